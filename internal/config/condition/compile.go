package condition

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// budgetName is a variable that no text can name.
const budgetName = "#budget"

// scope says which names a condition may use.
type scope struct {
	names   types.Map
	args    []string
	anyArgs bool
}

func approvalNames() types.Map {
	return types.Map{
		"args": types.Any, "annotations": types.Any, "state": types.Any, "tool": types.String,
		"hints": types.Map{"read_only": types.Bool, "destructive": types.Bool, "idempotent": types.Bool, "open_world": types.Bool},
	}
}

func whenNames() types.Map { return types.Map{"state": types.Any} }

// functions are those of the language: none makes anything large, and none has a
// result that could wrap around.
func functions() []string {
	return []string{"all", "any", "none", "one", "count", "len", "lower", "upper", "trim", "abs", "ceil", "floor", "round", "min", "max"}
}

// compile checks twice: what the author wrote, and then with our own arithmetic
// and bounds in it, which would blur errors.
func compile(text string, s *scope) (*Program, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("the condition is empty")
	}
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the condition has %d bytes; at most %d are read", len(text), MaxBytes)
	}
	names := maps.Clone(s.names)
	names[budgetName] = types.Any
	// Optimizing would change what is an error.
	options := []expr.Option{expr.Env(names), expr.Optimize(false)}
	seen := &reader{text: text, scope: s, reads: reads{names: map[string]bool{}}, whole: map[*ast.IdentifierNode]bool{}}
	_, err := expr.Compile(text, append(options, expr.Patch(seen), expr.AsBool())...)
	if own := seen.result(); own != nil {
		return nil, own
	}
	if err != nil {
		return nil, authors(err, text)
	}
	ours := rewriter{arithmetic()}
	for name, f := range ours.operators {
		options = append(options, expr.Function(name, f))
	}
	// Without AsBool, which would make false of nil.
	code, err := expr.Compile(text, append(options, expr.Function(tickName, tick), expr.Patch(ours))...)
	if err != nil {
		return nil, authors(err, text)
	}
	return &Program{text: text, code: code, uses: seen.reads}, nil
}

// reader goes through a condition as it was written: it notes what is read, and
// the first thing that does not belong to the language.
type reader struct {
	text  string
	scope *scope
	reads
	err error
	// whole has the places where state stands by itself, until a member of it turns
	// out to be meant: inner nodes come first.
	whole map[*ast.IdentifierNode]bool
}

func (r *reader) result() error {
	var first *ast.IdentifierNode
	for id := range r.whole {
		if first == nil || id.Location().From < first.Location().From {
			first = id
		}
	}
	if first != nil {
		r.fail(first, `state can only be read key by key, as state.NAME or state["user:name"]`)
	}
	return r.err
}

func (r *reader) fail(n ast.Node, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %s", place(r.text, n.Location()), fmt.Sprintf(format, args...))
	}
}

// Visit implements [ast.Visitor].
func (r *reader) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		r.name(n)
	case *ast.MemberNode:
		if key, ok := n.Property.(*ast.StringNode); ok {
			r.member(n.Node, key, n)
		}
	case *ast.BinaryNode:
		if key, ok := n.Left.(*ast.StringNode); ok && n.Operator == "in" {
			r.member(n.Right, key, n)
		}
	case *ast.BuiltinNode:
		if !slices.Contains(functions(), n.Name) {
			r.unknownFunction(n, n.Name)
		}
	case *ast.CallNode:
		r.err = nil // which was about the callee
		r.unknownFunction(n, callee(n))
	case *ast.VariableDeclaratorNode, *ast.SequenceNode:
		r.err = errors.New("a condition is one expression, without let and ;")
	}
}

func callee(n *ast.CallNode) string {
	switch f := n.Callee.(type) {
	case *ast.IdentifierNode:
		return f.Value
	case *ast.MemberNode:
		if name, ok := f.Property.(*ast.StringNode); ok {
			return name.Value
		}
	}
	return "of that kind"
}

func (r *reader) unknownFunction(n ast.Node, name string) {
	r.fail(n, "there is no function %s; the functions are %s", name, strings.Join(functions(), ", "))
}

func (r *reader) name(id *ast.IdentifierNode) {
	if _, known := r.scope.names[id.Value]; !known {
		r.fail(id, "there is no %q here; a condition reads %s", id.Value, list(slices.Sorted(maps.Keys(r.scope.names))))
		return
	}
	r.names[id.Value] = true
	if id.Value == "state" {
		r.whole[id] = true
	}
}

// member looks at owner.key.
func (r *reader) member(owner ast.Node, key *ast.StringNode, at ast.Node) {
	id, ok := owner.(*ast.IdentifierNode)
	if !ok {
		return
	}
	switch id.Value {
	case "state":
		delete(r.whole, id)
		r.state = append(r.state, key.Value)
	case "args":
		r.args = append(r.args, key.Value)
		if !r.scope.anyArgs && !slices.Contains(r.scope.args, key.Value) {
			r.fail(at, "the tool has no argument %q; %s", key.Value, suggestion(key.Value, r.scope.args))
		}
	case "hints":
		if hints := hintNames(); !slices.Contains(hints, key.Value) {
			r.fail(at, "there is no hint %q; the hints are %s", key.Value, list(hints))
		}
	}
}

func hintNames() []string { return []string{"destructive", "idempotent", "open_world", "read_only"} }

// rewriter puts our own arithmetic in the place of the language's, and counts the
// items that loops look at.
type rewriter struct{ operators map[string]vm.Function }

// Visit implements [ast.Visitor].
func (w rewriter) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.BinaryNode:
		if _, ours := w.operators[n.Operator]; ours {
			ast.Patch(node, &ast.CallNode{Callee: &ast.IdentifierNode{Value: n.Operator}, Arguments: []ast.Node{n.Left, n.Right}})
		}
	case *ast.PredicateNode:
		count := &ast.CallNode{Callee: &ast.IdentifierNode{Value: tickName}, Arguments: []ast.Node{&ast.IdentifierNode{Value: budgetName}}}
		n.Node = &ast.SequenceNode{Nodes: []ast.Node{count, n.Node}}
	}
}

// authors words an error of the library for the author of the file.
func authors(err error, text string) error {
	var at *file.Error
	if !errors.As(err, &at) {
		return errors.New(plainWords(err.Error()))
	}
	return fmt.Errorf("%s: %s", place(text, at.Location), plainWords(at.Message))
}
