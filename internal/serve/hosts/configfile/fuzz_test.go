package configfile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FuzzEdit holds whatever text to this: an edit works or says why not, a second
// one changes nothing, and what has been set can be removed again.
func FuzzEdit(f *testing.F) {
	files, err := filepath.Glob("testdata/set/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(kinds))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		before, _, _ := strings.Cut(string(data), "----\n")
		kind, _, _ := strings.Cut(filepath.Base(file), "_")
		f.Add(uint(slices.Index(names, kind)), control(before))
	}
	f.Fuzz(func(t *testing.T, kind uint, text string) {
		k := kinds[names[kind%uint(len(names))]]
		if tooDeep([]byte(text)) {
			return // no input of ours
		}
		after, err := k.Set(text, "new", entry())
		if err != nil {
			return
		}
		again, err := k.Set(after, "new", entry())
		if err != nil || again != after {
			t.Errorf("set twice: %v\n%q\n%q", err, after, again)
		}
		removed, err := k.Remove(after, "new")
		if err != nil {
			t.Fatalf("remove: %v\n%q", err, after)
		}
		entries, err := k.Entries(removed)
		if _, there := entries["new"]; there || err != nil {
			t.Errorf("still there: %q", removed)
		}
	})
}

// TestGenerated makes files as people and programs write them, and wants each
// byte back after set and remove.
func TestGenerated(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		for _, c := range []struct{ kind, text string }{{"json", someJSON(r)}, {"toml", someTOML(r)}, {"map", someYAML(r)}} {
			k := kinds[c.kind]
			after, err := k.Set(c.text, "new", entry())
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, c.kind, err, c.text)
			}
			removed, err := k.Remove(after, "new")
			if err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, c.kind, err, after)
			}
			if entries, _ := k.Entries(c.text); removed != c.text && len(entries) > 0 {
				t.Fatalf("seed %d, %s:\n%q\nbecame\n%q\nby way of\n%s", seed, c.kind, c.text, removed, after)
			}
			if !holds(after, c.text) {
				t.Fatalf("seed %d, %s:\n%q\nis not in\n%q", seed, c.kind, c.text, after)
			}
		}
	}
}

// holds reports whether a text has the bytes of another in order, which it does if
// they were only put apart.
func holds(text, part string) bool {
	for i := 0; i < len(text) && part != ""; i++ {
		if text[i] == part[0] {
			part = part[1:]
		}
	}
	return strings.TrimSpace(part) == "" || strings.TrimSpace(part) == "{}"
}

func pick(r *rand.Rand, words ...string) string { return words[r.IntN(len(words))] }

// someJSON writes an object, now with comments and trailing commas, now on one
// line.
func someJSON(r *rand.Rand) string {
	newline, indent, comma := pick(r, "\n", "\r\n"), pick(r, "  ", "\t", "    "), pick(r, "", ",")
	comment := func() string {
		return pick(r, "", "", "", " // x", " /* { */", newline+indent+"// own line")
	}
	if r.IntN(4) == 0 {
		return `{"a": 1,"mcpServers":{"one":{"command":"x"}` + pick(r, "", ` , "two": {}`) + pick(r, "}", " }") + pick(r, "}", `,"z":[]}`, `,"z":[] }`) + pick(r, "", newline)
	}
	var b strings.Builder
	b.WriteString(pick(r, "", "// top"+newline) + "{" + newline + indent + `"a": [1, {"b": "}"}],` + comment() + newline)
	b.WriteString(indent + `"mcpServers": {` + comment() + newline)
	n := 1 + r.IntN(3)
	for i := range n {
		fmt.Fprintf(&b, `%s"s%d": %s`, indent+indent, i, pick(r, "{}", `{"command": "x"}`, "{"+newline+indent+indent+indent+`"command": "x"`+comma+comment()+newline+indent+indent+"}"))
		if i < n-1 {
			b.WriteString("," + comment() + newline + pick(r, "", newline))
		}
	}
	b.WriteString(comma + comment() + newline + indent + "}")
	b.WriteString(pick(r, "", ","+comment()+newline+indent+`"z": null`) + comma + comment() + newline + "}" + pick(r, "", newline))
	return b.String()
}

func someTOML(r *rand.Rand) string {
	newline := pick(r, "\n", "\r\n")
	parts := []string{"[mcp_servers.one]", `command = "x"`}
	for range r.IntN(5) {
		parts = append(parts, pick(r, "", "# comment", "[mcp_servers.one.env]"+fmt.Sprint(" # ", len(parts)), "  k"+fmt.Sprint(len(parts))+" = [ 1,"+newline+"2 ]",
			"t"+fmt.Sprint(len(parts))+` = """`+newline+"# no"+newline+`"""`, "[[list]]"))
	}
	return pick(r, "", newline, "top = 1"+newline) + strings.Join(dedup(parts), newline) + pick(r, "", newline, newline+newline)
}

// dedup keeps the first table that begins alike; TOML has each once.
func dedup(lines []string) []string {
	seen := false
	return slices.DeleteFunc(lines, func(l string) bool {
		again := seen && strings.HasPrefix(l, "[mcp_servers.one.env]")
		seen = seen || strings.HasPrefix(l, "[mcp_servers.one.env]")
		return again
	})
}

func someYAML(r *rand.Rand) string {
	newline, indent := pick(r, "\n", "\r\n"), pick(r, "  ", "    ", " ")
	var b strings.Builder
	b.WriteString(pick(r, "", "# top"+newline, "model: x"+newline) + "extensions:" + pick(r, "", " # here") + newline)
	for i := range 1 + r.IntN(3) {
		fmt.Fprintf(&b, "%ss%d:%s", indent, i, pick(r, " {a: 1}", newline+indent+indent+"a: 1 # one", " |"+newline+indent+indent+"text"+newline+indent+indent+"# text", " null"))
		b.WriteString(newline + pick(r, "", "", newline, indent+"# comment"+newline, "# outside"+newline))
	}
	text := b.String() + pick(r, "", "next: 1"+newline, newline+"# end"+newline)
	if r.IntN(3) == 0 && !strings.Contains(text, "|") { // whose text would end without a line break
		text = strings.TrimRight(text, "\r\n")
	}
	return text
}
