package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
)

func write(t testing.TB, dir, name, content string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func link(t *testing.T, to, dir, name string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

type args = map[string]any

const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"

// folderWith gives a folder, and the tools on it.
func folderWith(t *testing.T, content map[string]string) (string, set) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sandbox")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range content {
		write(t, dir, name, text)
	}
	return dir, newSet(t, &config.Tool{Name: "files", Builtin: &config.Builtin{Root: dir, Write: true}}, nil)
}

// snapshot is what stands around the folder.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, name, e.Type())
		if e.Type().IsRegular() {
			data, err := os.ReadFile(name)
			fmt.Fprintf(&b, "%q\n", data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Attack case E01: nothing leads out of the folder, in no tool, and nobody
// learns what is there.
func TestE01(t *testing.T) {
	dir, s := folderWith(t, map[string]string{"notes.txt": "inside", "a/b.txt": "b"})
	outside := filepath.Dir(dir)
	write(t, outside, "x", "CANARY")
	write(t, outside, "sandbox-evil/x", "CANARY")
	link(t, filepath.Join("..", "x"), dir, "link")
	link(t, filepath.Join("..", "sandbox-evil"), dir, "linkdir")
	link(t, filepath.Join(outside, "x"), dir, "abslink")
	link(t, "loop", dir, "loop")
	link(t, "linkdir", dir, "chain")
	before := snapshot(t, outside)

	for _, p := range []string{
		"../x", "/etc/passwd", "a/../../x", `..\x`, "%2e%2e/x", "a/%2E%2e/%2e%2e/x", "notes.txt\x00", "\x00", "..", "../", "../sandbox-evil/x", "/sandbox-evil/x",
		filepath.ToSlash(filepath.Join(outside, "x")), filepath.ToSlash(filepath.Join(dir, "notes.txt")), "./../x", "a/../..", "//x", "file:///etc/passwd", "~/x", "C:/x", `C:\x`, `\\host\share`,
		"link", "linkdir/x", "abslink", "loop", "loop/x", "chain/x", "a/../link", "linkdir/../x", "linkdir/../../x",
	} {
		t.Run(p, func(t *testing.T) {
			for _, tool := range []string{"files_read", "files_list", "files_search", "files_write"} {
				call := args{"path": p}
				switch tool {
				case "files_search":
					call["pattern"] = "CANARY|root"
				case "files_write":
					if p == "~/x" || p == "file:///etc/passwd" || (p == "C:/x" && runtime.GOOS != "windows") || p == "linkdir/../x" {
						continue // odd names, but names inside the folder
					}
					call["content"] = "pwned"
				}
				got := s.do(t, tool, call)
				if !strings.HasPrefix(got, "error: ") || strings.Contains(got, "CANARY") || strings.Contains(strings.ReplaceAll(got, p, ""), outside) {
					t.Errorf("%s: %s", tool, got)
				}
			}
		})
	}
	for _, tool := range []string{"files_list", "files_search"} {
		call := args{"glob": "**"}
		if tool == "files_search" {
			call["pattern"] = "CANARY"
		}
		if got := s.do(t, tool, call); strings.Contains(got, "CANARY") || strings.Contains(got, "evil") || strings.Contains(got, "linkdir/x") {
			t.Errorf("%s followed a link:\n%s", tool, got)
		}
	}
	if after := snapshot(t, outside); after != before {
		t.Errorf("something was changed:\n%s", after)
	}
}

// A link that somebody swaps in between is os.Root's to refuse, and it does.
func TestE01Race(t *testing.T) {
	dir, s := folderWith(t, map[string]string{"sub/x": "inside"})
	write(t, filepath.Dir(dir), "evil/x", "CANARY")
	sub, aside := filepath.Join(dir, "sub"), filepath.Join(dir, "aside")
	link(t, filepath.Join("..", "evil"), dir, "probe")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			// Every step may fail while a call holds a file; the next round goes on.
			_ = os.Rename(sub, aside)
			_ = os.Symlink(filepath.Join("..", "evil"), sub)
			_ = os.RemoveAll(sub)
			_ = os.Rename(aside, sub)
		}
	})
	for range 300 {
		if got := s.do(t, "files_read", args{"path": "sub/x"}); strings.Contains(got, "CANARY") {
			t.Error("read outside")
		}
		_ = s.do(t, "files_write", args{"path": "sub/y", "content": "z"})
	}
	close(stop)
	wg.Wait()
	if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "evil", "y")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("wrote outside: %v", err)
	}
}

func TestLinksInside(t *testing.T) {
	dir, s := folderWith(t, map[string]string{"a/b.txt": "text\n"})
	link(t, filepath.Join("a", "b.txt"), dir, "link")
	if got := s.do(t, "files_read", args{"path": "link"}); got != "text\n" {
		t.Errorf("got %q", got)
	}
	want := "error: link is a link: write to the file that it leads to"
	if got := s.do(t, "files_write", args{"path": "link", "content": "x"}); got != want {
		t.Errorf("got %q", got)
	}
}

// Keys and passwords stay with the operator, and what git runs stays as it is.
func TestClosedFiles(t *testing.T) {
	dir, s := folderWith(t, map[string]string{
		".env": "KEY=CANARY", "app/.env.local": "KEY=CANARY", "app/.ENV": "KEY=CANARY", "app/.envelope": "KEY=open", ".git/config": "[core]", "app/main.go": "KEY=open",
	})
	link(t, ".env", dir, "link")
	link(t, ".git", dir, "g")
	if err := os.MkdirAll(filepath.Join(dir, "deep", "er"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, filepath.Join("deep", "er"), dir, "down")
	link(t, filepath.Join("..", "..", ".env"), filepath.Join(dir, "deep", "er"), "up")
	before := snapshot(t, dir)
	for _, p := range []string{".env", "app/.env.local", "./app/../.env", "app/.ENV", "link", "down/up"} {
		for tool, call := range map[string]args{"files_read": {"path": p}, "files_search": {"path": p, "pattern": "KEY"}, "files_write": {"path": p, "content": "x"}} {
			if got := s.do(t, tool, call); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, "holds secrets: files named .env or .env.*") {
				t.Errorf("%s %s: %s", tool, p, got)
			}
		}
	}
	for _, p := range []string{".git/hooks/pre-commit", ".git/config", ".git", "app/.git/config", ".GIT/config", "g/config"} {
		if got, want := s.do(t, "files_write", args{"path": p, "content": "x"}), "error: "+p+" belongs to git: nothing can be written in .git"; got != want {
			t.Errorf("got %s", got)
		}
	}
	if after := snapshot(t, dir); after != before {
		t.Errorf("something was changed:\n%s", after)
	}
	if got, want := s.do(t, "files_search", args{"pattern": "KEY"}), "app/.envelope:1: KEY=open\napp/main.go:1: KEY=open"; got != want {
		t.Errorf("got %s", got)
	}
	want := "app/.envelope 8 bytes\napp/main.go 8 bytes\n"
	if got := s.do(t, "files_list", args{"path": "app", "glob": "**"}); got != want {
		t.Errorf("got %s", got)
	}
	if got := s.do(t, "files_read", args{"path": "app/no"}); got != "error: there is no app/no; app holds: .envelope, main.go" {
		t.Errorf("got %s", got)
	}
	if got := s.do(t, "files_write", args{"path": ".env.example", "content": "x"}); !strings.Contains(got, "holds secrets") {
		t.Errorf("got %s", got)
	}
	if got := s.do(t, "files_write", args{"path": ".gitignore", "content": "x"}); got != ".gitignore created, now 1 bytes" {
		t.Errorf("got %s", got)
	}
}

func TestFilesList(t *testing.T) {
	dir, s := folderWith(t, map[string]string{
		"README.md": "12345", "docs/a.md": "1", "docs/b.txt": "", "docs/deep/c.md": "22", ".git/HEAD": "ref", "src/main.go": "x", "src/web/app.ts": "x", "src/web/app.tsx": "x",
	})
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args args
		want string
	}{
		{"the folder", args{}, ".git/\nREADME.md 5 bytes\ndocs/\nempty/\nsrc/\n"},
		{"a folder", args{"path": "docs/"}, "docs/a.md 1 bytes\ndocs/b.txt 0 bytes\ndocs/deep/\n"},
		{"two levels", args{"path": "./docs", "depth": 2}, "docs/a.md 1 bytes\ndocs/b.txt 0 bytes\ndocs/deep/\ndocs/deep/c.md 2 bytes\n"},
		{"by last name", args{"glob": "*.md"}, "README.md 5 bytes\ndocs/a.md 1 bytes\ndocs/deep/c.md 2 bytes\n"},
		{"by last name, one level", args{"glob": "*.md", "depth": 1}, "README.md 5 bytes\n"},
		{"by path", args{"glob": "docs/*.md"}, "docs/a.md 1 bytes\n"},
		{"by path from a folder on", args{"glob": "web/*.{ts,tsx}", "path": "src"}, "src/web/app.ts 1 bytes\nsrc/web/app.tsx 1 bytes\n"},
		{"any folders", args{"glob": "**/*.md"}, "README.md 5 bytes\ndocs/a.md 1 bytes\ndocs/deep/c.md 2 bytes\n"},
		{"depth as 2.0", args{"path": "docs", "depth": 2.0}, "docs/a.md 1 bytes\ndocs/b.txt 0 bytes\ndocs/deep/\ndocs/deep/c.md 2 bytes\n"},
		{"empty", args{"path": "empty"}, "empty is empty"},
		{"nothing matches", args{"path": "docs", "glob": "*.rs"}, "nothing in docs matches *.rs"},
		{"a file", args{"path": "README.md"}, "error: README.md: not a folder"},
		{"no such", args{"path": "doc/x"}, "error: there is no doc/x; the folder holds: .git/, README.md, docs/, empty/, src/"},
		{"bad glob", args{"glob": "{a"}, `error: "{a" is not a glob: there are *, ?, **/, [a-z], [!a-z] and {this,that}`},
		{"too deep", args{"depth": 33}, "error: argument depth: must be <= 32, got 33"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := s.do(t, "files_list", tc.args); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestFilesListIsBounded(t *testing.T) {
	dir, s := folderWith(t, nil)
	for i := range maxListed + 5 {
		write(t, dir, fmt.Sprintf("f%04d", i), "")
	}
	got := s.do(t, "files_list", args{})
	if !strings.HasSuffix(got, "f0999 0 bytes\n[there is more: name a folder or a narrower glob]\n") {
		t.Errorf("%d bytes: ...%s", len(got), got[len(got)-100:])
	}
	small := newSet(t, &config.Tool{Name: "files", MaxResultBytes: 2000, Builtin: &config.Builtin{Root: dir}}, nil)
	got = small.do(t, "files_list", args{})
	if len(got) > 2000 || !strings.HasSuffix(got, "[there is more: name a folder or a narrower glob]\n") || strings.Contains(got, "left out") {
		t.Errorf("%d bytes: ...%s", len(got), got[len(got)-100:])
	}
}

func TestFilesRead(t *testing.T) {
	_, s := folderWith(t, map[string]string{
		"three.txt": "one\r\ntwo\nthree", "ended.txt": "one\ntwo\n", "empty.txt": "", "bin": "\x7fELF\x00\x01\x02", "utf16.txt": "\xff\xfea\x00b\x00",
		"bad.txt": "caf\xe9 \xff\xfe", "a.png": png, "x.pdf": "%PDF-1.7\n", "docs/readme.md": "hi",
	})
	for _, tc := range []struct {
		name string
		args args
		want string
	}{
		{"whole", args{"path": "three.txt"}, "one\r\ntwo\nthree"},
		{"from the second on", args{"path": "three.txt", "offset": 2}, "two\nthree"},
		{"one line", args{"path": "three.txt", "offset": 2, "limit": 1}, "two\n[lines 2 to 2; the file goes on, next offset 3]"},
		{"the last line", args{"path": "three.txt", "offset": 3, "limit": 1}, "three"},
		{"just all", args{"path": "ended.txt", "limit": 2}, "one\ntwo\n"},
		{"past the end", args{"path": "three.txt", "offset": 4}, "error: three.txt has only 3 lines: offset 4 is past the end"},
		{"past an end with a line feed", args{"path": "ended.txt", "offset": 3}, "error: ended.txt has only 2 lines: offset 3 is past the end"},
		{"a huge limit", args{"path": "three.txt", "limit": 1e300}, "one\r\ntwo\nthree"},
		{"empty", args{"path": "empty.txt"}, "empty.txt is empty"},
		{"binary", args{"path": "bin"}, "bin: application/octet-stream, 7 bytes, no text"},
		{"UTF-16", args{"path": "utf16.txt"}, "utf16.txt: application/octet-stream, 6 bytes, no text"},
		{"PDF", args{"path": "x.pdf"}, "x.pdf: application/pdf, 9 bytes, no text"},
		{"not UTF-8", args{"path": "bad.txt"}, "caf\ufffd \ufffd"},
		{"a folder", args{"path": "docs"}, "error: docs is a folder: files_list shows what it holds"},
		{"the folder", args{"path": ""}, "error: . is a folder: files_list shows what it holds"},
		{"no such file", args{"path": "docs/README.md"}, "error: there is no docs/README.md; docs holds: readme.md"},
		{"a file on the way", args{"path": "empty.txt/x"}, "error: empty.txt/x: not a directory"},
		{"missing path", args{}, "error: argument path: missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.name == "no such file" && runtime.GOOS != "linux" || tc.name == "a file on the way" && runtime.GOOS == "windows" {
				t.Skip("file names and messages are others here")
			}
			if got := s.do(t, "files_read", tc.args); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
	res := s.result(t, t.Context(), "files_read", args{"path": "a.png"})
	if res.Output != "a.png: image/png, 16 bytes" || len(res.Media) != 1 || res.Media[0].MIMEType != "image/png" || string(res.Media[0].Data) != png {
		t.Errorf("the image came as %+v", res)
	}
}

// Parts put together give the whole text, whatever the budget cuts.
func TestFilesReadInParts(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "line %d %s\n", i, strings.Repeat("ü", i%70))
	}
	dir, _ := folderWith(t, map[string]string{"long.txt": text.String()})
	s := newSet(t, &config.Tool{Name: "files", MaxResultBytes: 4000, Builtin: &config.Builtin{Root: dir}}, nil)
	var got strings.Builder
	for offset := 1; offset > 0; {
		part := s.do(t, "files_read", args{"path": "long.txt", "offset": offset})
		if len(part) > 4000 {
			t.Fatalf("a part has %d bytes", len(part))
		}
		body, note, more := strings.Cut(part, "[lines ")
		got.WriteString(body)
		offset = 0
		if more {
			var from, to int
			if _, err := fmt.Sscanf(note, "%d to %d; the file goes on, next offset %d]", &from, &to, &offset); err != nil || offset != to+1 {
				t.Fatalf("%q: %v", note, err)
			}
		}
	}
	if got.String() != text.String() {
		t.Error("the parts are not the whole")
	}
}

func TestFilesReadLongLine(t *testing.T) {
	dir, _ := folderWith(t, map[string]string{"min.js": "short\n" + strings.Repeat("ü", 300_000) + "\nend\n"})
	s := newSet(t, &config.Tool{Name: "files", MaxResultBytes: 4000, Builtin: &config.Builtin{Root: dir}}, nil)
	if got, want := s.do(t, "files_read", args{"path": "min.js"}), "short\n[lines 1 to 1; the file goes on, next offset 2]"; got != want {
		t.Errorf("got %q", got)
	}
	got := s.do(t, "files_read", args{"path": "min.js", "offset": 2})
	if !strings.HasPrefix(got, "üüü") || !strings.HasSuffix(got, "ü\n[line 2 is longer and was cut; the next line is offset 3]") || len(got) > 4000 {
		t.Errorf("%d bytes: ...%s", len(got), got[len(got)-100:])
	}
	if got := s.do(t, "files_read", args{"path": "min.js", "offset": 3}); got != "end\n" {
		t.Errorf("got %q", got)
	}
}

func TestFilesSearch(t *testing.T) {
	dir, s := folderWith(t, map[string]string{
		"a.txt": "Hello\nworld\r\nhello again", "src/b.go": "func hello() {}\n", "bin": "hello\x00", ".git/x": "hello",
		"long.txt": strings.Repeat("ü", 400) + "NEEDLE" + strings.Repeat("ä", 400),
	})
	write(t, dir, "big.txt", strings.Repeat("hello\n", maxFileBytes/6+1))
	for _, tc := range []struct {
		name string
		args args
		want string
	}{
		{"everywhere", args{"pattern": "hello", "glob": "{a.txt,b.go}"}, "a.txt:3: hello again\nsrc/b.go:1: func hello() {}"},
		{"no case", args{"pattern": "(?i)^hello$", "path": "a.txt"}, "a.txt:1: Hello"},
		{"line end", args{"pattern": "world$"}, "a.txt:2: world\n[1 file left out: over 8 MiB, or not to be read]"},
		{"one folder", args{"pattern": "hello", "path": "src"}, "src/b.go:1: func hello() {}"},
		{"glob from the folder on", args{"pattern": "hello", "path": "src", "glob": "./*.go"}, "src/b.go:1: func hello() {}"},
		{"nothing", args{"pattern": "nope", "glob": "*.go"}, "no line matches in 1 file"},
		{"a binary file", args{"pattern": "hello", "path": "bin"}, "no line matches in 0 files"},
		{"a long line", args{"pattern": "NEEDLE"}, "long.txt:1: ..." + strings.Repeat("ü", 50) + "NEEDLE" + strings.Repeat("ä", 97) + "...\n[1 file left out: over 8 MiB, or not to be read]"},
		{"not RE2", args{"pattern": "(?<=x)"}, "error: the pattern is not an RE2 expression: error parsing regexp: invalid named capture: `(?<=x)`"},
		{"no such path", args{"pattern": "x", "path": "nope"}, "error: there is no nope; the folder holds: .git/, a.txt, big.txt, bin, long.txt, src/"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := s.do(t, "files_search", tc.args); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestFilesSearchIsBounded(t *testing.T) {
	_, s := folderWith(t, map[string]string{"a.txt": strings.Repeat("hit\n", 1000), "b.txt": "hit"})
	got := s.do(t, "files_search", args{"pattern": "hit"})
	if n := strings.Count(got, "\n"); n != maxMatches || !strings.HasSuffix(got, "a.txt:200: hit\n[there is more: narrow the pattern, the path or the glob]") {
		t.Errorf("%d lines: %s", n, got[len(got)-100:])
	}
	_, s = folderWith(t, map[string]string{"a.txt": strings.Repeat("a", 100_000)})
	if got := s.do(t, "files_search", args{"pattern": "(a+)+$b"}); got != "no line matches in 1 file" { // F09: linear, or this never ends
		t.Errorf("got %q", got)
	}
}

func TestFilesWrite(t *testing.T) {
	dir, s := folderWith(t, map[string]string{"old.txt": "old", "script.sh": "#!"})
	if err := os.Chmod(filepath.Join(dir, "script.sh"), 0o750); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "fixed.txt", "x")
	if err := os.Chmod(filepath.Join(dir, "fixed.txt"), 0o444); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name       string
		args       args
		want       string
		file, text string
	}{
		{"new", args{"path": "new/deep/a.txt", "content": "ü\n"}, "new/deep/a.txt created, now 3 bytes", "new/deep/a.txt", "ü\n"},
		{"over", args{"path": "old.txt", "content": "n"}, "old.txt overwritten, now 1 bytes", "old.txt", "n"},
		{"append", args{"path": "old.txt", "content": "!", "mode": "append"}, "old.txt appended to, now 2 bytes", "old.txt", "n!"},
		{"append to nothing", args{"path": "log.txt", "content": "1", "mode": "append"}, "log.txt created, now 1 bytes", "log.txt", "1"},
		{"emptied", args{"path": "log.txt", "content": "", "mode": "overwrite"}, "log.txt overwritten, now 0 bytes", "log.txt", ""},
		{"permissions stay", args{"path": "script.sh", "content": "#!/bin/sh"}, "script.sh overwritten, now 9 bytes", "script.sh", "#!/bin/sh"},
		{"write-protected", args{"path": "fixed.txt", "content": "y"}, "error: fixed.txt is write-protected", "fixed.txt", "x"},
		{"a folder", args{"path": "new", "content": "y"}, "error: new is a folder", "new/deep/a.txt", "ü\n"},
		{"the folder", args{"path": ".", "content": "y"}, "error: . is a folder", "old.txt", "n!"},
		{"a file on the way", args{"path": "old.txt/x", "content": "y"}, "error: old.txt/x: not a directory", "old.txt", "n!"},
		{"another mode", args{"path": "old.txt", "content": "x", "mode": "truncate"}, `error: argument mode: must be one of "overwrite", "append", got "truncate"`, "old.txt", "n!"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.name == "a file on the way" && runtime.GOOS == "windows" {
				t.Skip("another message here")
			}
			if got := s.do(t, "files_write", tc.args); got != tc.want {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
			if got := read(t, dir, tc.file); got != tc.text {
				t.Errorf("%s holds %q, want %q", tc.file, got, tc.text)
			}
		})
	}
	if info, err := os.Stat(filepath.Join(dir, "script.sh")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o750 {
		t.Errorf("permissions %v, %v", info.Mode(), err)
	}
	if strings.Contains(snapshot(t, dir), ".adkmcp-") {
		t.Error("a draft was left behind")
	}
}

func TestFilesWriteIsBounded(t *testing.T) {
	dir, _ := folderWith(t, map[string]string{"old.txt": "n!"})
	f := &folder{path: dir}
	for mode, size := range map[string]int{"overwrite": maxFileBytes + 1, "append": maxFileBytes - 1} {
		res, err := f.write(t.Context(), &writeArgs{Path: "old.txt", Content: strings.Repeat("x", size), Mode: mode})
		if want := "old.txt would have 8388609 bytes, more than the 8388608 that a file may have"; err == nil || err.Error() != want {
			t.Errorf("%s: got %+v, %v", mode, res, err)
		}
	}
	if got := read(t, dir, "old.txt"); got != "n!" {
		t.Errorf("old.txt holds %d bytes", len(got))
	}
}

// Calls of one step run at the same time, and none gets lost.
func TestFilesAppendTogether(t *testing.T) {
	dir, s := folderWith(t, nil)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			if got := s.do(t, "files_write", args{"path": "log", "content": fmt.Sprintf("%02d\n", i), "mode": "append"}); strings.HasPrefix(got, "error") {
				t.Error(got)
			}
		})
	}
	wg.Wait()
	if got := strings.Count(read(t, dir, "log"), "\n"); got != 40 {
		t.Errorf("%d of 40 lines", got)
	}
}

func TestFilesStopWithTheirContext(t *testing.T) {
	_, s := folderWith(t, map[string]string{"a/b.txt": "hit\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, raw := range map[string]string{
		"files_list": `{}`, "files_read": `{"path":"a/b.txt"}`, "files_search": `{"pattern":"hit"}`, "files_write": `{"path":"c","content":""}`,
	} {
		res, err := s[name].Call(ctx, &agent.Call{Args: []byte(raw)})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
}

func TestFolderThatGoesAway(t *testing.T) {
	dir, s := folderWith(t, nil)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if got := s.do(t, "files_list", args{}); !strings.HasPrefix(got, "error: the folder of this tool cannot be opened: ") || strings.Contains(got, dir) {
		t.Errorf("got %q", got)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := s.do(t, "files_list", args{}); got != "the folder is empty" {
		t.Errorf("got %q", got)
	}
}

func TestGlob(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"*.go", "a/b.go", true}, {"*.go", "b.gox", false}, {"?.go", "ü.go", true}, {"?.go", "ab.go", false},
		{"a/*.go", "a/b.go", true}, {"a/*.go", "a/b/c.go", false}, {"a/**", "a/b/c.go", true}, {"a/**/c.go", "a/c.go", true}, {"a/**/c.go", "a/b/d/c.go", true}, {"a/**/c.go", "ab/c.go", false},
		{"[a-c].go", "b.go", true}, {"[!a-c].go", "b.go", false}, {"[!a-c].go", "d.go", true}, {"[].go", "[].go", true}, {"[[].go", "[.go", true}, {`[\d].go`, "1.go", false},
		{"{a,b*}.go", "bb.go", true}, {"{a,b}.go", "c.go", false}, {"a,b.go", "a,b.go", true}, {"a}.go", "a}.go", true}, {"a.b", "axb", false}, {"(a|b)+", "(a|b)+", true},
	} {
		g, err := newGlob(tc.pattern)
		if err != nil {
			t.Errorf("%s: %v", tc.pattern, err)
			continue
		}
		if got := g.matches(".", tc.name); got != tc.want {
			t.Errorf("%s matches %s: %v", tc.pattern, tc.name, got)
		}
	}
	for _, bad := range []string{"{a", "[z-a]", "{a,{b}"} {
		if _, err := newGlob(bad); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
