package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config/load"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// BenchmarkLoad reads one agent file from the disk, as starting a server does.
func BenchmarkLoad(b *testing.B) {
	none := func(string) (string, bool) { return "/bin", true }
	hundred := filepath.Join(b.TempDir(), "hundred.yaml")
	if err := os.WriteFile(hundred, manyTools(100), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct{ name, path string }{
		{"dice", "testdata/good/dice.yaml"}, {"shell", "testdata/good/shell.yaml"}, {"generate", "testdata/good/17-generate.yaml"}, {"100 tools", hundred},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				agents, problems, err := load.Agents([]string{bench.path}, load.Options{LookupEnv: none})
				if err != nil || len(agents) != 1 {
					b.Fatal(problems, err)
				}
			}
		})
	}
}

// BenchmarkParse is the part of it that the YAML library and the guards take.
func BenchmarkParse(b *testing.B) {
	data := manyTools(100)
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if doc, problems := strictyaml.Parse("x.yaml", data); doc == nil {
			b.Fatal(problems)
		}
	}
}

func manyTools(n int) []byte {
	var b strings.Builder
	b.WriteString("name: many\ninstruction: Do it.\ntools:\n")
	for i := range n {
		fmt.Fprintf(&b, `  - name: tool_%d
    description: Tool number %d does one thing and does it well.
    parameters:
      word: {type: string, pattern: '^[a-z]+$', description: The word}
      count: {type: integer, minimum: 1, maximum: 100, default: 10, description: How many}
      paths: {type: array, items: {type: string}, optional: true, description: Where}
    shell: [grep, -m, "{count}", --, "{word}", "{paths}"]
    timeout: 5s
`, i, i)
	}
	return []byte(b.String())
}
