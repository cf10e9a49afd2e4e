package strictyaml

import (
	"strconv"
	"strings"
)

// Kind is the shape of a [Node].
type Kind int

// The kinds.
const (
	Scalar Kind = iota
	List
	Mapping
)

// String names the kind as a message does.
func (k Kind) String() string {
	switch k {
	case List:
		return "a list"
	case Mapping:
		return "a mapping"
	}
	return "a single value"
}

// Node is a value of a file. Aliases are followed and merge keys merged, so that
// one Node may be reached on several paths; nobody writes to it.
type Node struct {
	Kind  Kind
	Text  string // of a scalar, as written or between the quotes
	Class Class  // of a scalar
	// Line and Column say where it begins. An empty value stands where its key
	// does.
	Line, Column int
	Items        []*Node // of a list
	Pairs        []Pair  // of a mapping, in the file's order, merged ones last

	expanded     bool // Text came out of Options.Expand and is never shown
	size, height int  // of the tree below, aliases followed
}

// Pair is one entry of a mapping.
type Pair struct {
	Key   *Node
	Value *Node
}

// Get gives the value of a key, nil when n is nil, no mapping, or has no such key.
func (n *Node) Get(key string) *Node {
	if p := n.pair(key); p != nil {
		return p.Value
	}
	return nil
}

func (n *Node) pair(key string) *Pair {
	if n == nil {
		return nil
	}
	for i := range n.Pairs {
		if n.Pairs[i].Key.Text == key {
			return &n.Pairs[i]
		}
	}
	return nil
}

// class is what YAML takes a scalar for, or would take it for if what was
// expanded stood in the file.
func (n *Node) class() Class {
	if n.expanded {
		return classify(n.Text)
	}
	return n.Class
}

// IsNull reports whether the value is null or not there.
func (n *Node) IsNull() bool { return n == nil || n.Kind == Scalar && n.Class == Null }

// Path is the way from the root of a document to a value; nil is the root.
type Path struct {
	up    *Path
	key   string
	index int // where key is empty
	list  bool
}

// Key is the path of a mapping's value.
func (p *Path) Key(key string) *Path { return &Path{up: p, key: key} }

// Index is the path of a list's item, counted from 0.
func (p *Path) Index(i int) *Path { return &Path{up: p, index: i, list: true} }

// String gives a form such as tools[0].shell.command.
func (p *Path) String() string {
	if p == nil {
		return ""
	}
	up := p.up.String()
	switch {
	case p.list:
		return up + "[" + strconv.Itoa(p.index) + "]"
	case p.key == "" || strings.ContainsAny(p.key, " .[]\"\n\t"):
		return up + "[" + strconv.Quote(p.key) + "]"
	case up == "":
		return p.key
	}
	return up + "." + p.key
}
