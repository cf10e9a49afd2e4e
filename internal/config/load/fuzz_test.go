package load

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// FuzzAgent takes whatever comes for an agent file: nothing panics, everything
// ends, and every place lies inside of the file.
func FuzzAgent(f *testing.F) {
	for _, pattern := range []string{"../testdata/good/*.*", "../testdata/bad/*.yaml", "../testdata/*/serve/agent.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			if data, err := os.ReadFile(path); err == nil {
				f.Add(data)
			}
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 8<<10 || bytes.IndexByte(data, '\r') >= 0 {
			return
		}
		doc, problems := strictyaml.Parse("f", data)
		if doc == nil {
			return
		}
		l := newLoader(Options{LookupEnv: env("PATH", "", "A", "{x}$")})
		e := &entry{file: l.read(doc, &file{abs: filepath.Join(dir, "f")})}
		l.top = append(l.top, e)
		l.agents = l.served()
		l.checkNames()
		l.checkShared()
		problems = append(problems, l.problems...)
		lines := bytes.Split(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n"))
		for _, p := range problems {
			if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len([]rune(string(lines[p.Line-1])))+1 {
				t.Fatalf("%v lies outside of %q", p, data)
			}
		}
	})
}
