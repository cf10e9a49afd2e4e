package httpreq

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/template"
)

// BenchmarkCall is one call of a tool; BenchmarkPlain beside it is the same
// request made by hand with net/http.
func BenchmarkCall(b *testing.B) {
	url, _ := server(b, respond(200, "application/json", `{"title": "hello", "id": 9007199254740993}`))
	for _, filter := range []string{"", ".title"} {
		b.Run("result="+filter, func(b *testing.B) {
			tool := build(b, entry(config.HTTP{
				URL: url + "/issues/{number}{?labels*}", Headers: map[string]template.Text{"Accept": places("application/json")},
				Auth: &config.Auth{Bearer: config.NewSecret("s3cret")}, Result: filter,
			}, "number", "labels?"))
			call := &agent.Call{Args: json.RawMessage(`{"number": 7, "labels": ["a", "b c"]}`)}
			ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
			defer cancel()
			b.ReportAllocs()
			for b.Loop() {
				if res, err := tool.Call(ctx, call); err != nil || res.IsError {
					b.Fatal(res, err)
				}
			}
		})
	}
}

func BenchmarkPlain(b *testing.B) {
	url, _ := server(b, respond(200, "application/json", `{"title": "hello", "id": 9007199254740993}`))
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/issues/7?labels=a&labels=b%20c", nil)
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Accept", "application/json")
		req.Header.Set("Authorization", "Bearer s3cret")
		res, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadAll(res.Body); err != nil {
			b.Fatal(err)
		}
		_ = res.Body.Close()
	}
}
