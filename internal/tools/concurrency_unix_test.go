//go:build unix

package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

// Case 15 of the shell tools: of fifty calls three run at the same time, and
// every one gets its own result.
func TestShellCase15Concurrency(t *testing.T) {
	script := entry(3, "prog")
	script.Schema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	script.Parameters = []config.Parameter{{Name: "n", Schema: json.RawMessage(`{"type":"integer"}`)}}
	script.Shell = &config.Shell{
		Script:      `touch running.$n; ls | grep -c '^running' ; sleep 0.05; rm running.$n; echo $n`,
		Interpreter: []template.Text{template.Parse("sh")}, Dir: t.TempDir(), SuccessExitCodes: []int{0}, Output: "text", Concurrency: 3,
	}
	a := file(script)
	a.LookupEnv = os.LookupEnv
	set := mustBuild(t, a)
	defer set.Close()
	_, tools := names(t, set)
	var group sync.WaitGroup
	results := make([]*agent.Result, 50)
	for i := range results {
		group.Go(func() {
			var err error
			results[i], err = tools[0].Call(t.Context(), &agent.Call{Name: "prog", Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)), Progress: func(string) {}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	most := 0
	for i, res := range results {
		lines := strings.Fields(fmt.Sprint(res.Output))
		if res.IsError || len(lines) != 2 || lines[1] != strconv.Itoa(i) {
			t.Fatalf("call %d: %q", i, res.Output)
		}
		running, err := strconv.Atoi(lines[0])
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, running)
	}
	if most < 2 || most > 3 {
		t.Errorf("%d ran at the same time, allowed are 3", most)
	}
}
