package internal_test

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is our module path; inside names are relative to it.
const module = "github.com/adkmcp/adkmcp/"

// floorplan says which room may import which others. A room that ends in /*
// stands for each folder below; "." in a list is the room's own sub-rooms
// when they are its parts. The first row that matches counts.
var floorplan = []struct {
	room string
	may  []string
}{
	{"internal/config/strictyaml", nil},
	{"internal/config/template", []string{"internal/config/strictyaml"}},
	{"internal/config/jsonschema", nil},
	{"internal/config/condition", nil},
	{"internal/config/report", []string{"internal/config/strictyaml"}},
	{"internal/config/schema", []string{"internal/config/jsonschema", "internal/config/strictyaml"}},
	{"internal/config/check", []string{"internal/config", "internal/config/template", "internal/config/condition", "internal/config/schema", "internal/config/strictyaml"}},
	{"internal/config/check/toolset", []string{"internal/config", "internal/config/template", "internal/config/check", "internal/config/strictyaml"}},
	{"internal/config/check/models", []string{"internal/config", "internal/config/check", "internal/config/strictyaml"}},
	{"internal/config/load", []string{"internal/config", "internal/config/template", "internal/config/check", "internal/config/check/*", "internal/config/strictyaml"}},
	{"internal/config/testfile", []string{"internal/config", "internal/config/strictyaml"}},
	{"internal/config", []string{"internal/config/strictyaml", "internal/config/template"}},
	{"internal/agent/model", nil},
	{"internal/agent/model/wire", []string{"internal/agent/model", "internal/agent/model/ordered"}},
	{"internal/agent/model/modeltest", []string{"internal/agent/model"}},
	{"internal/agent/model/servicetest", nil},
	{"internal/agent/model/*/*test", []string{"internal/agent/model/servicetest"}}, // strict fakes of the services
	{"internal/agent/model/ordered", nil},
	{"internal/agent/model/*/dialect", []string{"internal/agent/model/ordered"}},
	{"internal/agent/model/*/history", []string{"internal/agent/mediatype", "internal/agent/model", "internal/agent/model/wire"}},
	{"internal/agent/model/*/thinking", []string{"internal/config"}},
	{"internal/agent/model/*/chunk", []string{"internal/agent/model", "internal/agent/model/wire"}},
	{"internal/agent/model/*/difference", nil},
	{"internal/agent/model/*", []string{"internal/agent/mediatype", "internal/config", "internal/config/template", "internal/agent/model", "internal/agent/model/wire", "internal/agent/model/*/dialect", "internal/agent/model/*/chunk", "internal/agent/model/*/difference", "internal/agent/model/*/history", "internal/agent/model/*/thinking"}},
	{"internal/agent/session/sessiontest", []string{"internal/agent/session"}},
	{"internal/agent/session", []string{"internal/agent/model"}},
	{"internal/agent/artifact/artifacttest", []string{"internal/agent/artifact", "internal/agent/session"}},
	{"internal/agent/mediatype", nil},
	{"internal/agent/artifact", []string{"internal/agent/session"}},
	{"internal/agent/memory/memorytest", []string{"internal/agent/memory"}},
	{"internal/agent/memory", nil},
	{"internal/agent/transcript", []string{"internal/agent/session"}},
	{"internal/agent/budget", []string{"internal/config", "internal/agent/model"}},
	{"internal/agent/instruction", []string{"internal/config/template"}},
	{"internal/agent/output", []string{"internal/config/jsonschema", "internal/agent/model"}},
	{"internal/agent/answer", []string{"internal/agent/model", "internal/agent/session"}},
	{"internal/agent/compaction", []string{"internal/config", "internal/agent/model", "internal/agent/session"}},
	{"internal/agent", []string{"internal/config", "internal/agent/answer", "internal/agent/budget", "internal/agent/compaction", "internal/agent/instruction", "internal/agent/output", "internal/agent/model", "internal/agent/session", "internal/agent/artifact", "internal/agent/memory"}},
	{"internal/tools/process/processtest", nil},
	{"internal/tools/webclient", []string{"internal/config"}},
	{"internal/tools/process", []string{"internal/config"}},
	{"internal/tools/mcpclient/wire", []string{"internal/serve/rpc", "internal/tools/process"}},
	{"internal/tools/mcpclient/mirror", []string{"internal/serve/rpc"}},
	{"internal/tools/mcpclient/protocol", []string{"internal/serve/rpc", "internal/tools/mcpclient/mirror", "internal/tools/mcpclient/wire"}},
	{"internal/tools/mcpclient/credential", []string{"internal/config", "internal/tools/mcpclient/wire", "internal/tools/process", "internal/tools/webclient"}},
	{"internal/tools/mcpclient/pin", []string{"internal/tools/mcpclient/protocol"}},
	{"internal/tools/mcpclient/listing", []string{"internal/agent", "internal/config", "internal/config/jsonschema", "internal/tools/mcpclient/protocol"}},
	{"internal/tools/mcpclient/content", []string{"internal/agent", "internal/agent/mediatype", "internal/tools/mcpclient/listing", "internal/tools/mcpclient/protocol"}},
	{"internal/tools/mcpclient/parking", []string{"internal/agent", "internal/agent/model", "internal/agent/session"}},
	{"internal/tools/mcpclient/upstream", []string{"internal/config", "internal/tools/mcpclient/protocol", "internal/tools/mcpclient/wire", "internal/tools/process", "internal/tools/webclient"}},
	{"internal/tools/mcpclient", []string{"internal/agent/mediatype", "internal/config", "internal/config/jsonschema", "internal/agent", "internal/agent/model", "internal/agent/session", "internal/tools/webclient", "internal/tools/process", "internal/tools/mcpclient/*"}},
	{"internal/tools/openapi/document", []string{"internal/config/jsonschema"}},
	{"internal/tools/openapi/style", []string{"internal/tools/webclient", "internal/tools/openapi/document"}},
	{"internal/tools/openapi", []string{"internal/config", "internal/agent", "internal/agent/session", "internal/tools/webclient", "internal/tools/openapi/*"}},
	{"internal/tools/*", []string{"internal/agent/mediatype", "internal/config", "internal/config/template", "internal/config/condition", "internal/config/jsonschema", "internal/agent", "internal/agent/answer", "internal/agent/model", "internal/agent/session", "internal/agent/artifact", "internal/agent/memory", "internal/tools/webclient", "internal/tools/process"}},
	{"internal/tools", []string{"internal/config", "internal/config/template", "internal/agent", "internal/agent/model", "internal/agent/session", "internal/agent/artifact", "internal/agent/memory", "internal/tools/*"}},
	{"internal/serve/hosts/configfile", nil},
	{"internal/serve/hosts", []string{"internal/serve/hosts/configfile"}},
	{"internal/serve/rpc", nil},
	{"internal/serve/turns", []string{"internal/config", "internal/agent", "internal/agent/answer", "internal/agent/model", "internal/agent/session", "internal/agent/artifact"}},
	{"internal/serve/duplex", []string{"internal/serve/rpc", "internal/serve/turns"}},
	{"internal/serve/guard", []string{"internal/config"}},
	{"internal/serve/tasks", []string{"internal/agent/model", "internal/agent/session", "internal/serve/elicit", "internal/serve/rpc", "internal/serve/turns"}},
	{"internal/serve/*", []string{"internal/agent/mediatype", "internal/config", "internal/config/template", "internal/config/jsonschema", "internal/agent", "internal/agent/model", "internal/agent/session", "internal/agent/artifact", "internal/serve/guard", "internal/serve/rpc", "internal/serve/duplex", "internal/serve/turns"}},
	{"internal/serve", []string{"internal/config", "internal/config/jsonschema", "internal/agent", "internal/agent/answer", "internal/agent/model", "internal/agent/session", "internal/agent/artifact", "internal/serve/*"}},
	{"cmd/adkmcp/mcphost", nil},
	{"cmd/adkmcp/prompt", nil},
	{"cmd/adkmcp/tape", []string{"cmd/adkmcp/house", "internal/agent/model/replay"}},
	{"cmd/adkmcp/streams", []string{"internal/config"}},
	{"cmd/adkmcp/house", []string{"internal/*", "internal/*/*", "internal/*/*/*"}},
	{"cmd/adkmcp/byhand", []string{"cmd/adkmcp/show", "internal/agent", "internal/agent/session", "internal/tools"}},
	{"cmd/adkmcp/show", []string{"cmd/adkmcp/mcphost"}},
	{"cmd/adkmcp/trial", []string{"cmd/adkmcp/show", "internal/agent", "internal/agent/answer", "internal/agent/model", "internal/agent/model/replay", "internal/agent/session", "internal/config", "internal/config/jsonschema", "internal/config/testfile"}},
	{"cmd/adkmcp/testrun", []string{"cmd/adkmcp/house", "cmd/adkmcp/trial", "internal/agent/model", "internal/agent/model/replay", "internal/config", "internal/config/load", "internal/config/report", "internal/config/strictyaml", "internal/config/testfile"}},
	{"cmd/adkmcp", []string{"cmd/adkmcp/*", "internal/*", "internal/*/*", "internal/*/*/*"}},
}

// fences say where a dependency may be used.
var fences = []struct {
	dependency string
	in         []string // rooms, or files
}{
	{"github.com/spf13/cobra", []string{"cmd/adkmcp"}},
	{"github.com/santhosh-tekuri/jsonschema", []string{"internal/config/jsonschema"}},
	{"gopkg.in/yaml.v3", []string{"internal/config/strictyaml", "internal/serve/hosts/configfile"}},
	{"github.com/expr-lang/expr", []string{"internal/config/condition"}},
	{"github.com/getkin/kin-openapi", []string{"internal/tools/openapi"}},
	{"go.yaml.in/yaml/v4", []string{"internal/tools/openapi/document"}},
	{"github.com/JohannesKaufmann/html-to-markdown", []string{"internal/tools/webpage"}},
	{"github.com/zalando/go-keyring", []string{"internal/tools/mcpclient/credential"}},
	{"golang.org/x/oauth2", []string{"internal/tools/mcpclient/credential"}},
	{"github.com/tailscale/hujson", []string{"internal/serve/hosts/configfile"}},
	{"github.com/pelletier/go-toml", []string{"internal/serve/hosts/configfile"}},
	{"github.com/mark3labs/mcp-go", []string{"internal/serve", "internal/serve/stdio", "internal/serve/httpserver", "internal/serve/catalog", "cmd/adkmcp/mcphost"}},
}

// Caps on code lines without blanks and comments, and on counts.
const (
	maxFunction   = 70
	maxFile       = 400
	maxTestFile   = 600
	maxPackage    = 1500
	maxFiles      = 12
	maxFilesCmd   = 20
	maxInterface  = 6
	maxParameters = 5
)

// source is one parsed Go file.
type source struct {
	room, name string // the folder and the path, from the top of the module
	test       bool
	ast        *ast.File
	fset       *token.FileSet
	code       map[int]bool // the lines that hold code
}

func (s *source) at(t *testing.T, n ast.Node, format string, args ...any) {
	t.Helper()
	t.Errorf("%s:%d: "+format, append([]any{s.name, s.fset.Position(n.Pos()).Line}, args...)...)
}

// lines counts the lines of code in a node.
func (s *source) lines(n ast.Node) int {
	count := 0
	for l := s.fset.Position(n.Pos()).Line; l <= s.fset.Position(n.End()).Line; l++ {
		if s.code[l] {
			count++
		}
	}
	return count
}

// sources are all Go files; they are read once for all tests.
func sources(t *testing.T) []*source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("found %d Go files only", len(all))
	}
	return all
}

var parsed = sync.OnceValues(parseAll)

func parseAll() ([]*source, error) {
	var all []*source
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") {
			if err == nil && d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
				return fs.SkipDir
			}
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(file, ".."+string(filepath.Separator)))
		s := &source{name: name, room: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), fset: token.NewFileSet()}
		if s.ast, err = parser.ParseFile(s.fset, name, data, parser.ParseComments); err != nil {
			return err
		}
		s.code = codeLines(s, data)
		all = append(all, s)
		return nil
	})
	return all, err
}

// codeLines finds the lines that are neither blank nor wholly comment.
func codeLines(s *source, data []byte) map[int]bool {
	comment := map[int]bool{}
	for _, g := range s.ast.Comments {
		for _, c := range g.List {
			from, to := s.fset.Position(c.Pos()), s.fset.Position(c.End())
			for l := from.Line; l <= to.Line; l++ {
				comment[l] = true
			}
		}
	}
	code := map[int]bool{}
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, len(data)+1)
	for l := 1; scan.Scan(); l++ {
		text := strings.TrimSpace(scan.Text())
		if text != "" && (!comment[l] || !strings.HasPrefix(text, "//") && !strings.HasPrefix(text, "/*") && !strings.HasPrefix(text, "*")) {
			code[l] = true
		}
	}
	return code
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		may, known := allowed(s.room)
		if !known {
			t.Errorf("%s: the floor plan has no room %s", s.name, s.room)
		}
		for _, imp := range s.ast.Imports {
			target := strings.Trim(imp.Path.Value, `"`)
			if inside, ours := strings.CutPrefix(target, module); ours {
				if !slices.ContainsFunc(may, func(p string) bool { return matches(p, inside) }) {
					s.at(t, imp, "%s may not import %s", s.room, inside)
				}
				continue
			}
			checkFence(t, s, imp, target)
		}
	}
}

func allowed(room string) ([]string, bool) {
	for _, r := range floorplan {
		if matches(r.room, room) {
			return r.may, true
		}
	}
	return nil, false
}

func matches(pattern, room string) bool {
	ok, err := path.Match(pattern, room)
	return err == nil && ok
}

func checkFence(t *testing.T, s *source, imp ast.Node, target string) {
	t.Helper()
	for _, f := range fences {
		if (target == f.dependency || strings.HasPrefix(target, f.dependency+"/")) && !slices.Contains(f.in, s.room) && !slices.Contains(f.in, s.name) {
			s.at(t, imp, "%s is used only in %s", f.dependency, strings.Join(f.in, ", "))
		}
	}
}

func TestSizes(t *testing.T) {
	type total struct{ lines, files int }
	packages := map[string]*total{}
	for _, s := range sources(t) {
		n := s.lines(s.ast)
		if limit := fileCap(s); n > limit {
			t.Errorf("%s has %d lines of code, the cap is %d", s.name, n, limit)
		}
		if s.test {
			continue
		}
		p := packages[s.room]
		if p == nil {
			p = &total{}
			packages[s.room] = p
		}
		p.lines += n
		p.files++
		checkDeclarations(t, s)
	}
	for room, p := range packages {
		limit := maxFiles
		if room == "cmd/adkmcp" {
			limit = maxFilesCmd
		}
		if p.lines > maxPackage || p.files > limit {
			t.Errorf("%s has %d lines in %d files, the caps are %d and %d", room, p.lines, p.files, maxPackage, limit)
		}
	}
}

func fileCap(s *source) int {
	if s.test {
		return maxTestFile
	}
	return maxFile
}

func checkDeclarations(t *testing.T, s *source) {
	t.Helper()
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if lines := s.lines(n); lines > maxFunction {
				s.at(t, n, "%s has %d lines of code, the cap is %d", n.Name.Name, lines, maxFunction)
			}
			if count := n.Type.Params.NumFields(); count > maxParameters {
				s.at(t, n, "%s has %d parameters, the cap is %d", n.Name.Name, count, maxParameters)
			}
		case *ast.InterfaceType:
			if count := n.Methods.NumFields(); count > maxInterface {
				s.at(t, n, "an interface has %d methods, the cap is %d", count, maxInterface)
			}
		}
		return true
	})
}

var vague = regexp.MustCompile(`^(utils?|commons?|helpers?|types|base|managers?)$`)

func TestBans(t *testing.T) {
	documented, rooms := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		rooms[s.room] = true
		documented[s.room] = documented[s.room] || s.ast.Doc != nil
		if vague.MatchString(s.ast.Name.Name) {
			t.Errorf("%s: package %s needs a noun of its own", s.name, s.ast.Name.Name)
		}
		checkBans(t, s)
	}
	for room := range rooms {
		if !documented[room] {
			t.Errorf("%s has no package comment", room)
		}
	}
}

// onlyInMain are names of the standard library that only main.go may use.
var onlyInMain = map[string]bool{"os.Stdout": true, "os.Exit": true, "context.Background": true, "context.TODO": true}

// nowhere are names that nothing may use.
var nowhere = regexp.MustCompile(`^fmt\.(Print|Println|Printf)$|^log\.(Print|Fatal|Panic)`)

// geminiOnly are the parts of genai that are its client.
var geminiOnly = regexp.MustCompile(`^genai\.(NewClient|Client|ClientConfig)$`)

func checkBans(t *testing.T, s *source) {
	t.Helper()
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				s.at(t, n, "init functions are banned")
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "panic" || id.Name == "print" || id.Name == "println") {
				s.at(t, n, "%s is banned", id.Name)
			}
		case *ast.StructType:
			for _, f := range n.Fields.List {
				if selector(f.Type) == "context.Context" {
					s.at(t, f, "a context is stored in a struct")
				}
			}
		case *ast.SelectorExpr:
			checkName(t, s, n)
		}
		return true
	})
}

func checkName(t *testing.T, s *source, n *ast.SelectorExpr) {
	t.Helper()
	name := selector(n)
	switch {
	case onlyInMain[name] && s.name != "cmd/adkmcp/main.go":
		s.at(t, n, "%s is used only in cmd/adkmcp/main.go", name)
	case nowhere.MatchString(name):
		s.at(t, n, "%s is banned", name)
	case geminiOnly.MatchString(name) && s.room != "internal/agent/model/gemini":
		s.at(t, n, "%s is used only in internal/agent/model/gemini", name)
	}
}

func selector(e ast.Expr) string {
	if sel, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := sel.X.(*ast.Ident); ok {
			return x.Name + "." + sel.Sel.Name
		}
	}
	return ""
}

// TestPackageVariables allows variables that nobody writes: sentinels, tables,
// compiled patterns, embedded files.
func TestPackageVariables(t *testing.T) {
	vars := map[string]map[string]bool{} // room -> names
	all := sources(t)
	for _, s := range all {
		for _, d := range s.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if s.test || !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				if strings.HasPrefix(selector(v.Type), "sync.") || strings.HasPrefix(selector(v.Type), "atomic.") {
					s.at(t, v, "a package variable of type %s is mutable", selector(v.Type))
				}
				for _, name := range v.Names {
					if vars[s.room] == nil {
						vars[s.room] = map[string]bool{}
					}
					vars[s.room][name.Name] = name.Name != "_"
				}
			}
		}
	}
	for _, s := range all {
		if !s.test {
			checkWrites(t, s, vars[s.room])
		}
	}
}

func checkWrites(t *testing.T, s *source, vars map[string]bool) {
	t.Helper()
	ast.Inspect(s.ast, func(n ast.Node) bool {
		var targets []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				targets = n.Lhs
			}
		case *ast.IncDecStmt:
			targets = []ast.Expr{n.X}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				targets = []ast.Expr{n.X}
			}
		}
		for _, e := range targets {
			if id := root(e); id != nil && vars[id.Name] && (id.Obj == nil || id.Obj.Decl == nil || isPackageVar(id)) {
				s.at(t, e, "the package variable %s is written", id.Name)
			}
		}
		return true
	})
}

// isPackageVar reports whether the parser resolved an identifier to a
// declaration at the top of the file.
func isPackageVar(id *ast.Ident) bool {
	_, spec := id.Obj.Decl.(*ast.ValueSpec)
	return spec && id.Obj.Kind == ast.Var && id.Obj.Data == nil
}

func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}
