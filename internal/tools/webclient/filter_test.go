package webclient

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/config"
)

func TestFilter(t *testing.T) {
	tests := []struct {
		program, input string
		want           []string
	}{
		{".title", `{"title": "a <b> & c"}`, []string{`"a <b> & c"`}},
		{".id", `{"id": 9007199254740993}`, []string{"9007199254740993"}},
		{".id", `{"id": 123456789012345678901234567890.50}`, []string{"123456789012345678901234567890.50"}},
		{".", `{"b": [1.10, 1e400, true, null], "a": {}}`, []string{`{"a":{},"b":[1.10,1e400,true,null]}`}},
		{".id + 1", `{"id": 9007199254740993}`, []string{"9007199254740994"}},
		{".a * .b", `{"a": 9007199254740993, "b": 1000}`, []string{"9007199254740993000"}},
		{".a * {x: 1}", `{"a": {"y": [2]}}`, []string{`{"x":1,"y":[2]}`}},
		{"def f(x): x * 2; [.[] | f(.) as $y | {($y|tostring): ($y * 3)}]", `[1, 2]`, []string{`[{"2":6},{"4":12}]`}},
		{".[]", `[1, "x", []]`, []string{"1", `"x"`, "[]"}},
		{"empty", `{}`, nil},
		{"1, halt, 2", `{}`, []string{"1"}},
		{"$ENV, env", `{}`, []string{"{}", "{}"}},
	}
	t.Setenv("SECRET", "s3cret")
	for _, tt := range tests {
		t.Run(tt.program, func(t *testing.T) {
			f, err := CompileFilter(tt.program)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // a filter can be used again
				got, err := f.Apply(t.Context(), tt.input)
				if err != nil {
					t.Fatal(err)
				}
				var texts []string
				for _, v := range got {
					if !json.Valid(v) {
						t.Errorf("%s is not JSON", v)
					}
					texts = append(texts, string(v))
				}
				if diff := cmp.Diff(tt.want, texts); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestFilterBounds(t *testing.T) {
	tests := []struct{ name, program, input, want string }{
		{"text repeated by the answer", ".s * .n", `{"s": "xxxxxxxx", "n": 200000000}`, "multiplied"},
		{"text repeated inside a function", "def f: . as [$a, $b] | $a * $b; f", `[200000000, "xxxxxxxx"]`, "multiplied"},
		{"endless", "last(range(infinite))", `{}`, "2s"},
		{"long outputs", "., .", `"` + strings.Repeat("x", maxFilterBytes*2/3) + `"`, "larger"},
		{"many outputs", "range(40000)", `1`, "larger"},
		{"small value, huge text", "reduce range(64) as $i (.; [., .])", `1`, "larger"},
		{"endless list of lists", "reduce range(11000) as $i (.; [.])", `1`, "larger"},
		{"fails", ".a.b", `{"a": 1}`, "failed"},
		{"error", `error("no")`, `{}`, "no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := CompileFilter(tt.program)
			if err != nil {
				t.Fatal(err)
			}
			var got []json.RawMessage
			bytes := allocated(func() { got, err = f.Apply(t.Context(), tt.input) })
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %d values and error %v, want one with %q", len(got), err, tt.want)
			}
			if tt.name != "endless" && bytes > 256<<20 {
				t.Errorf("allocated %d MiB", bytes>>20)
			}
		})
	}
	for _, text := range []string{"", "<html>", "{", "{} {}", `{"a": 1}]`, "NaN"} {
		f, err := CompileFilter(".")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.Apply(t.Context(), text); !errors.Is(err, ErrNotJSON) {
			t.Errorf("%q: got %s, %v", text, got, err)
		}
	}
	for _, program := range []string{".[", "input", "nosuch", `import "x" as x; .`, ".a *= 2", strings.Repeat("x", maxProgram+1), "", `"\(.a *= 2)"`} {
		if _, err := CompileFilter(program); err == nil {
			t.Errorf("%.20q was compiled", program)
		}
	}
}

func TestCredential(t *testing.T) {
	tests := []struct {
		name string
		auth config.Auth
		want Credential
	}{
		{"bearer", config.Auth{Bearer: config.NewSecret("t")}, Credential{"Authorization", "Bearer t"}},
		{"basic", config.Auth{Basic: &config.BasicAuth{Username: "Aladdin", Password: config.NewSecret("open sesame")}},
			Credential{"Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}},
		{"header", config.Auth{Header: &config.HeaderAuth{Name: "x-api-key", Value: config.NewSecret("t")}}, Credential{"X-Api-Key", "t"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := NewCredential(&tt.auth)
			if err != nil || got != tt.want {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
		})
	}
	for _, bad := range []config.Auth{
		{}, {Bearer: config.NewSecret("s3cret\n")}, {Header: &config.HeaderAuth{Name: "a b", Value: config.NewSecret("s3cret")}},
	} {
		if _, err := NewCredential(&bad); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("got %v, want an error without the secret", err)
		}
	}
}
