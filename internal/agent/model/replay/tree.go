package replay

import (
	"encoding/json"
	"slices"
)

// tree holds conversations, each beginning that several have in common once: a
// request's contents are the way from the root to a node.
type tree struct {
	root  *node
	nodes []*node // parents before children
	next  map[step]*node
	heads map[head]*head
}

type node struct {
	content
	parent *node
	place  int // in nodes
	depth  int // contents up to here
}

type step struct {
	from *node
	json string
}

// exchange is a request and what came of it.
type exchange struct {
	request key
	asked   string // the question that the request's answer is for
	asks    string // the question that the reply asks
	begun   int    // when, among all
	outcome
	then *node // where a conversation stands after the reply; nil where it cannot go on from it

	number int // in the file
}

// key is equal for requests that are equal.
type key struct {
	agent  string
	head   *head
	at     *node // all of its contents
	answer string
}

func newTree() *tree {
	root := &node{}
	return &tree{root: root, nodes: []*node{root}, next: make(map[step]*node), heads: make(map[head]*head)}
}

// add puts one more content after a node.
func (t *tree) add(from *node, c content) *node {
	s := step{from, c.json}
	if n := t.next[s]; n != nil {
		return n
	}
	n := &node{content: c, parent: from, place: len(t.nodes), depth: from.depth + 1}
	t.next[s], t.nodes = n, append(t.nodes, n)
	return n
}

// head gives the one copy of a head.
func (t *tree) head(h head) *head {
	if own := t.heads[h]; own != nil {
		return own
	}
	t.heads[h] = &h
	return &h
}

// insert gives the key of a request that may be new; its contents come after a node.
func (t *tree) insert(agent string, at *node, r *request) key {
	for _, c := range r.contents {
		at = t.add(at, c)
	}
	return key{agent: agent, head: t.head(r.head), at: at, answer: r.answer}
}

// way gives the nodes of a request from the root on, as far as there are any.
func (t *tree) way(r *request) []*node {
	way := append(make([]*node, 0, len(r.contents)+1), t.root)
	for _, c := range r.contents {
		n := t.next[step{way[len(way)-1], c.json}]
		if n == nil {
			break
		}
		way = append(way, n)
	}
	return way
}

// goOn is where a conversation stands after a recorded reply; nil where it cannot go
// on from it. Recorder and player both find it by what the file says and nothing else.
func (t *tree) goOn(s scrubber, at *node, r *reply) (*node, error) {
	if r == nil || r.Suspend != nil || len(r.Content) == 0 {
		return nil, nil
	}
	c, err := readContent(r.Content)
	if err != nil || c == nil || len(c.Parts) == 0 {
		return nil, err
	}
	nameCalls(c)
	ids := &namer{last: at.calls}
	text, err := s.asked(c, ids)
	if err != nil {
		return nil, err
	}
	return t.add(at, content{text, ids.last}), nil
}

// since gives the contents after an earlier node on the way to n, oldest first.
func (n *node) since(earlier *node) []json.RawMessage {
	var list []json.RawMessage
	for ; n != earlier && n.parent != nil; n = n.parent {
		list = append(list, json.RawMessage(n.json))
	}
	slices.Reverse(list)
	return list
}
