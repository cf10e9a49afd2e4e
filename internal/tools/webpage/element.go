package webpage

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Kinds of elements by what is done with them.
var (
	// dropped are those that are no text for a reader.
	dropped = []atom.Atom{
		atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Title,
		atom.Iframe, atom.Frameset, atom.Noembed, atom.Noframes, atom.Object, atom.Applet, atom.Svg, atom.Canvas,
		atom.Audio, atom.Video, atom.Map,
		atom.Button, atom.Select, atom.Datalist, atom.Textarea, atom.Progress, atom.Meter,
	}
	// void have neither content nor end tag.
	void = []atom.Atom{
		atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Frame, atom.Hr, atom.Img, atom.Input, atom.Link,
		atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr,
	}
	headings = []atom.Atom{atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6}
	nesting  = []atom.Atom{atom.Ul, atom.Ol, atom.Dl, atom.Blockquote}
	cells    = []atom.Atom{atom.Td, atom.Th}
	groups   = []atom.Atom{atom.Caption, atom.Colgroup, atom.Thead, atom.Tbody, atom.Tfoot}
	tabular  = slices.Concat([]atom.Atom{atom.Table, atom.Tr}, cells, groups)
	// formed lose their form where they are nested too deeply.
	formed = slices.Concat(nesting, tabular, []atom.Atom{atom.Li, atom.Dt, atom.Dd})
	// blocks end a paragraph.
	blocks = slices.Concat(nesting, headings, []atom.Atom{
		atom.Address, atom.Article, atom.Aside, atom.Details, atom.Div, atom.Fieldset, atom.Figcaption, atom.Figure,
		atom.Footer, atom.Form, atom.Header, atom.Hr, atom.Main,
		atom.Nav, atom.P, atom.Pre, atom.Section, atom.Table,
	})
	implied = []struct{ begins, ends, within []atom.Atom }{
		{blocks, []atom.Atom{atom.P}, slices.Concat(tabular, []atom.Atom{atom.Button, atom.Object})},
		{[]atom.Atom{atom.Li}, []atom.Atom{atom.Li}, slices.Concat(nesting, tabular)},
		{[]atom.Atom{atom.Dt, atom.Dd}, []atom.Atom{atom.Dt, atom.Dd}, slices.Concat(nesting, tabular)},
		{[]atom.Atom{atom.A}, []atom.Atom{atom.A}, tabular},
		{cells, cells, []atom.Atom{atom.Tr, atom.Table}},
		{[]atom.Atom{atom.Tr}, []atom.Atom{atom.Tr, atom.Caption, atom.Colgroup}, []atom.Atom{atom.Table}},
		{groups, groups, []atom.Atom{atom.Table}},
		{[]atom.Atom{atom.Body}, []atom.Atom{atom.Head}, nil},
	}
)

// unseen reports whether an element is not shown to people, as far as it says so
// itself: style sheets are not read.
func unseen(t *html.Token) bool {
	if slices.Contains(dropped, t.DataAtom) || has(t, "hidden") || t.DataAtom == atom.Dialog && !has(t, "open") {
		return true
	}
	style := strings.ToLower(strings.ReplaceAll(attribute(t, "style"), "!important", ""))
	for declaration := range strings.SplitSeq(style, ";") {
		property, value, _ := strings.Cut(declaration, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(property) {
		case "display", "visibility", "color":
			if slices.Contains([]string{"none", "hidden", "collapse", "transparent"}, value) {
				return true
			}
		case "opacity", "font-size":
			if isZero(value) {
				return true
			}
		}
	}
	return false
}

// isZero reports whether a value of CSS is 0 in any unit.
func isZero(value string) bool {
	number := strings.TrimRight(value, "%abcdefghijklmnopqrstuvwxyz ")
	return number != "" && strings.Trim(number, "0.") == ""
}

func has(t *html.Token, key string) bool {
	return slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == key })
}

func attribute(t *html.Token, key string) string {
	for _, a := range t.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
