package webpage

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of a page. The work of making Markdown, and its size, grow with nesting,
// so what is nested deeper loses its form and keeps its text.
const (
	maxNodes  = 100_000
	maxText   = 1 << 20 // bytes of text and addresses
	maxOpen   = 256     // elements within each other
	maxDepth  = 64      // of elements that have a form
	maxNested = 6       // of lists and quotations
	maxCells  = 50_000  // of a table, with those that fill up its rows
	maxHref   = 2048
	maxTitle  = 300
	// lineCost is what a line of code counts, in bytes of text, for each list and
	// quotation around it: about that much stands before it in the Markdown.
	lineCost = 8
)

// page is the tree of a page as far as people see it.
//
// It is put together here, and not by html.Parse, because that opens elements
// that overlap once more for everything after them, and joins pieces of text one by
// one: a page of 100 KB can make it take a gigabyte, or minutes. Here the work is
// proportional to the page, at the price of putting wrongly nested elements in
// simpler order.
type page struct {
	root  *html.Node
	title string
	cut   bool // there was more than the bounds allow

	base        *url.URL
	based       bool // base is the page's own
	open        []element
	text        strings.Builder // what comes next in the innermost element
	last        byte            // of the text so far
	nodes, size int
	tables      []*html.Node
	layout      map[*html.Node]bool // tables with tables in them
}

// element is one that has begun and not ended.
type element struct {
	kind atom.Atom // 0 for one that HTML does not know
	name string
	node *html.Node // nil for what people do not see
}

// parse reads a page that came from u, until ctx ends.
func parse(ctx context.Context, text string, u *url.URL) *page {
	root := &html.Node{Type: html.DocumentNode}
	p := &page{root: root, base: u, open: []element{{node: root}}, layout: map[*html.Node]bool{}}
	z := html.NewTokenizer(strings.NewReader(text))
	for !p.cut && ctx.Err() == nil && z.Next() != html.ErrorToken {
		switch t := z.Token(); t.Type {
		case html.TextToken:
			p.say(t.Data)
		case html.StartTagToken, html.SelfClosingTagToken:
			p.begin(&t)
		case html.EndTagToken:
			p.end(t.DataAtom, t.Data)
		}
		p.cut = p.cut || p.nodes > maxNodes || p.size > maxText
	}
	p.flush()
	for _, t := range p.tables {
		if p.layout[t] || cellsOf(t) > maxCells {
			unform(t)
		}
	}
	return p
}

func (p *page) top() element { return p.open[len(p.open)-1] }

// say takes a piece of text.
func (p *page) say(text string) {
	switch top := p.top(); {
	case top.node != nil:
		text = p.fit(visible(text))
		p.text.WriteString(text)
		if text != "" {
			p.last = text[len(text)-1]
		}
	case top.kind == atom.Title && p.title == "" && !p.within(atom.Svg):
		title := strings.Join(strings.Fields(visible(text[:min(len(text), 10*maxTitle)])), " ")
		p.title = strings.ToValidUTF8(title[:min(len(title), maxTitle)], "")
	}
}

// fit gives as much of a text as there is room for, and counts it.
func (p *page) fit(text string) string {
	line := 0
	if p.within(atom.Pre) { // elsewhere what breaks a line is an element
		line = lineCost * p.nested()
	}
	for i := range len(text) {
		p.size++
		if text[i] == '\n' {
			p.size += line
		}
		if p.size > maxText {
			p.cut = true
			return strings.ToValidUTF8(text[:i], "")
		}
	}
	return text
}

// flush makes a node of the text so far.
func (p *page) flush() {
	if p.text.Len() > 0 {
		p.add(&html.Node{Type: html.TextNode, Data: p.text.String()})
		p.text.Reset()
	}
}

func (p *page) add(n *html.Node) {
	if top := p.top(); top.node != nil {
		p.nodes++
		top.node.AppendChild(n)
	}
}

// begin takes a start tag.
func (p *page) begin(t *html.Token) {
	switch t.DataAtom {
	case atom.Base:
		p.rebase(attribute(t, "href"))
		return
	case atom.Img:
		if !unseen(t) {
			p.say(strings.TrimSpace(attribute(t, "alt")))
		}
		return
	}
	seen := !unseen(t)
	if len(p.open) == maxOpen {
		p.cut = !seen // where it ends could not be told
		return
	}
	p.endImplied(t.DataAtom)
	p.flush()
	if slices.Contains(void, t.DataAtom) {
		if t.DataAtom == atom.Br || t.DataAtom == atom.Hr {
			p.add(&html.Node{Type: html.ElementNode, DataAtom: t.DataAtom, Data: t.Data})
		}
		return
	}
	e := element{kind: t.DataAtom, name: t.Data}
	if p.top().node != nil && seen {
		e.node = p.form(t)
		p.add(e.node)
	}
	p.open = append(p.open, e)
}

// form makes the node of an element, with what the converter has to know.
func (p *page) form(t *html.Token) *html.Node {
	n := &html.Node{Type: html.ElementNode, DataAtom: t.DataAtom, Data: t.Data}
	switch {
	case len(p.open) > maxDepth, p.nested() >= maxNested && slices.Contains(formed, t.DataAtom):
		plain(n)
	case slices.Contains(headings, t.DataAtom) && slices.ContainsFunc(p.open, func(e element) bool { return slices.Contains(headings, e.kind) }):
		plain(n) // it would emphasise each line once more
	case t.DataAtom == atom.Table:
		for _, e := range p.open {
			if e.kind == atom.Table {
				p.layout[e.node] = true
			}
		}
		p.tables = append(p.tables, n)
	case t.DataAtom == atom.A:
		href := link(p.base, attribute(t, "href"))
		if href == "" {
			n.DataAtom, n.Data = atom.Span, "span"
			break
		}
		if p.last == '!' { // it would make an image of the link
			p.say(" ")
		}
		p.size += len(href)
		n.Attr = []html.Attribute{{Key: "href", Val: href}}
	}
	return n
}

// plain takes the form of an element away.
func plain(n *html.Node) { n.DataAtom, n.Data = atom.Div, "div" }

// cellsOf is how many cells a table has when all its rows are as long as the
// longest.
func cellsOf(table *html.Node) int {
	rows, row, longest := 0, 0, 0
	for n := range table.Descendants() {
		switch {
		case n.DataAtom == atom.Tr:
			rows, row = rows+1, 0
		case slices.Contains(cells, n.DataAtom):
			row++
			longest = max(longest, row)
		}
	}
	return (rows + 1) * longest
}

// unform makes text of a table that is there for the layout. The tables in it stay.
func unform(n *html.Node) {
	plain(n)
	for child := range n.ChildNodes() {
		if child.DataAtom != atom.Table && slices.Contains(tabular, child.DataAtom) {
			unform(child)
		}
	}
}

// end takes an end tag. One that ends nothing is passed over.
func (p *page) end(kind atom.Atom, name string) {
	for i := len(p.open) - 1; i > 0; i-- {
		switch e := p.open[i]; {
		case e.kind == kind && e.name == name:
			p.close(i)
			return
		case e.kind == atom.Table && kind != atom.Table, (e.kind == atom.Td || e.kind == atom.Th) && !slices.Contains(tabular, kind):
			return // a cell's content cannot end what is around the cell
		}
	}
}

// endImplied ends what ends without an end tag when an element of the kind begins
// (HTML, "optional tags").
func (p *page) endImplied(kind atom.Atom) {
	for _, r := range implied {
		if !slices.Contains(r.begins, kind) {
			continue
		}
		for i := len(p.open) - 1; i > 0; i-- {
			if k := p.open[i].kind; slices.Contains(r.ends, k) {
				p.close(i)
				break
			} else if slices.Contains(r.within, k) {
				break
			}
		}
	}
}

// close ends the open elements from i on.
func (p *page) close(i int) {
	p.flush()
	p.open = p.open[:i]
}

func (p *page) within(kind atom.Atom) bool {
	return slices.ContainsFunc(p.open, func(e element) bool { return e.kind == kind })
}

// nested is how many lists and quotations are open that have a form.
func (p *page) nested() int {
	n := 0
	for _, e := range p.open {
		if slices.Contains(nesting, e.kind) {
			n++
		}
	}
	return min(n, maxNested)
}

// rebase takes the address that the page's links start from; the first one counts.
func (p *page) rebase(href string) {
	u, err := p.base.Parse(strings.TrimSpace(href))
	if err == nil && !p.based && (u.Scheme == "http" || u.Scheme == "https") {
		p.base, p.based = u, true
	}
}
