//go:build realdocs

package openapi

import (
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// TestRealDocuments loads the documents that ADKMCP_OPENAPI_DOCUMENTS names: each of
// their operations must be a tool that models take and whose schema compiles.
// e2e/openapi/run fetches them.
func TestRealDocuments(t *testing.T) {
	files := filepath.SplitList(os.Getenv("ADKMCP_OPENAPI_DOCUMENTS"))
	if len(files) < 2 {
		t.Fatal("ADKMCP_OPENAPI_DOCUMENTS names fewer than two documents")
	}
	client := webclient.New(webclient.Options{})
	defer func() { _ = client.Close() }()
	name := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			set, err := New(&config.Tool{OpenAPI: &config.OpenAPI{Document: file, Server: "http://127.0.0.1:1"}},
				Deps{Client: client, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(start)
			tools, err := set.Tools(t.Context(), &agent.Query{Peek: true})
			if err != nil {
				t.Fatal(err)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			size := 0
			for _, tool := range tools {
				spec := tool.Spec()
				size += len(spec.Parameters)
				if !name.MatchString(spec.Name) {
					t.Errorf("the name %q", spec.Name)
				}
				if err := jsonschema.New(spec.Parameters, jsonschema.Arguments(spec.Name)).Compile(); err != nil {
					t.Errorf("%s: %v\n%s", spec.Name, err, spec.Parameters)
				}
			}
			for _, w := range set.listed.Load().listing.Warnings {
				if strings.Contains(w, "left out") {
					t.Error(w)
				}
				t.Log(w)
			}
			if len(tools) < 20 {
				t.Errorf("%d tools only", len(tools))
			}
			t.Logf("%d tools, %d KiB of schemas; loaded in %v, %d MiB allocated on the way, %d MiB kept",
				len(tools), size>>10, took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20, (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>20)
		})
	}
}
