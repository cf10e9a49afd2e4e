package byhand

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/adkmcp/adkmcp/internal/agent/session"
)

const schema = `{"type":"object","required":["text","n"],"properties":{
	"text":{"type":"string","description":"What to say.\nSecond line"},"n":{"type":"integer"},
	"maybe":{"type":["string","null"]},"list":{"type":"array"},"any":true,"size":{"enum":["s","m"]}}}`

func TestArguments(t *testing.T) {
	for _, tc := range []struct {
		pairs      []string
		want, fail string
	}{
		{nil, `{}`, ""},
		{[]string{"text=12", "n=12", "maybe=true", "list=[1]", "any={\"a\":1}", "size=m"}, `{"text":"12","n":12,"maybe":"true","list":[1],"any":{"a":1},"size":"m"}`, ""},
		{[]string{"text=a=b", "n=9007199254740993"}, `{"text":"a=b","n":9007199254740993}`, ""},
		{[]string{"text:=12"}, `{"text":12}`, ""},
		{[]string{"text="}, `{"text":""}`, ""},
		{[]string{"n=twelve"}, `{"n":"twelve"}`, ""}, // which the tool refuses, in its own words
		{[]string{`{"text": "whole"}`}, `{"text": "whole"}`, ""},
		{[]string{"text"}, "", `argument "text": want key=value`},
		{[]string{"=x"}, "", `argument "=x": want key=value`},
		{[]string{"n=1", "n:=2"}, "", "argument n is given twice"},
		{[]string{"n:=twelve"}, "", "argument n: twelve is no JSON"},
	} {
		got, err := arguments(json.RawMessage(schema), tc.pairs)
		if tc.fail != "" {
			if err == nil || err.Error() != tc.fail {
				t.Errorf("%q: %v, want %s", tc.pairs, err, tc.fail)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tc.pairs, err)
			continue
		}
		if diff := cmp.Diff(decoded(t, tc.want), decoded(t, string(got))); diff != "" {
			t.Errorf("%q: %s", tc.pairs, diff)
		}
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestPrint(t *testing.T) {
	var b strings.Builder
	list := []Listed{
		{Name: "say", From: "shell, line 3", Description: "Says it.\nLoudly.", Parameters: json.RawMessage(schema), Destructive: true},
		{Name: "find", From: "mcp files, line 9", ReadOnly: true, Hidden: "found by tool_search", Parameters: json.RawMessage(`{"type":"object"}`)},
	}
	listings := []*session.Listing{{Source: "files", Tools: []string{"find"}, Warnings: []string{"odd"}}, {Source: "db", Error: "exit code 1"}}
	if err := Print(&b, list, listings, func(s string) string { return s }); err != nil {
		t.Fatal(err)
	}
	want := `say  (shell, line 3, destructive)
    Says it.
    - text: string. What to say.
    - n: integer
    - maybe: string or null, optional
    - list: array, optional
    - any, optional
    - size, optional, one of "s" "m"
find  (mcp files, line 9, read-only, found by tool_search)
! files: odd
! db: exit code 1
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	if err := Print(&b, nil, nil, func(s string) string { return s }); err != nil || b.String() != "the model sees no tools\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}
