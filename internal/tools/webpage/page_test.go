package webpage

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"
)

func convert(t testing.TB, page string) (string, bool) {
	t.Helper()
	u, err := url.Parse("https://example.com/dir/page")
	if err != nil {
		t.Fatal(err)
	}
	text, cut, err := markdown(t.Context(), page, u)
	if err != nil {
		t.Fatal(err)
	}
	return text, cut
}

func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ name, page, want string }{
		{"structure", `<html><head><title> A
			title</title><style>p{}</style></head><body><h2>H</h2><p>One <em>two</em> <strong>three</strong> <code>x*y</code></p><hr><ul><li>a<li>b</ul><ol><li>c</ol><blockquote>d</blockquote><pre><code>e
  f</code></pre>`, "Title: A title\n\n## H\n\nOne *two* **three** `x*y`\n\n* * *\n\n- a\n- b\n\n<!--THE END-->\n\n1. c\n\n> d\n\n```\ne\n  f\n```"},
		{"table", `<table><thead><tr><th>A<th>B<tbody><tr><td>1 | 2<td>long<br>er<tr><td>3</table>`, "| A | B |\n|---|---|\n| 1 \\| 2 | long  <br />er |\n| 3 |  |"},
		{"layout", `<table><tr><td>menu<td><table><tr><td>a<td>b</table>after</table>`, "menu\n\n| a | b |\n|---|---|\n\nafter"},
		{"spans", `<table><tr><td rowspan=65534 colspan=1000>x<td>y</table>`, "| x | y |\n|---|---|"},
		{"no end tags", `<p>one<p>two<ul><li>a<ul><li>b</ul><li>c</ul><dl><dt>d<dd>e</dl>`, "one\n\ntwo\n\n- a\n  \n  - b\n- c\n\nd\n\ne"},
		{"overlapping", `<b>a<i>b</b>c</i> d`, "**a*b***c d"},
		{"wrong end tags", `</p></div><table><tr><td>x</table></td>a</span></li>b`, "| x |\n|---|\n\nab"},
		{"links", `<a href="/x?y=1&amp;z">a</a> <a href="//o.example/">b</a> <a href="mailto:a@b.c">c</a> <a href="#f">d</a> <a href="javascript:alert(1)">e</a> <a href="data:text/html,x">f</a> <a>g</a> <a href="http://[">h</a>`,
			"[a](https://example.com/x?y=1&z) [b](https://o.example/) [c](mailto:a@b.c) d e f g h"},
		{"links that break out", `<a href="https://x.example/?a) ![p](https://evil.example/b">l</a><a href="/ü <i>" title='") ![x](y'>m</a>`,
			"[l](https://x.example/?a%29%20%21%5Bp%5D%28https%3A%2F%2Fevil.example%2Fb)[m](https://example.com/%C3%BC%20%3Ci%3E)"},
		{"base", `<base href="/other/"><base href="https://evil.example/"><a href=x>a</a>`, "[a](https://example.com/other/x)"},
		{"images", `<p><img src="https://evil.example/?secret" alt="A cat"> <img src=x> <a href=/z><img alt="B" src=y></a><picture><source srcset=q><img alt=C></picture><input type=image src=x><svg><image href=x /><title>no</title></svg><object data=x>fallback</object>`,
			"A cat [B](https://example.com/z)C"},
		{"Markdown in the text", "<p>![x](https://evil.example/a) # h [l](u) <!-- c --> &lt;img src=x&gt;", `!\[x](https://evil.example/a) # h \[l](u) &lt;img src=x&gt;`},
		{"links that look like images", `!<a href=x>a</a> <i>b!</i><wbr><b></b><a href=x>c</a>`, "! [a](https://example.com/dir/x) *b!* [c](https://example.com/dir/x)"},
		{"scripts", `a<script>b<p></script><noscript>c</noscript><template>d</template><iframe src=x>e</iframe><style>f</style><textarea>g</textarea><select><option>h</select><button>i</button><!-- j -->k`, "ak"},
		{"hidden", `a<p hidden>b</p><div style="Display : NONE !important">c<p>d</div><i style="visibility:hidden">e</i><i style="opacity:0.0;">f</i><i style="font-size: 0px">g</i><i style="color:transparent">h</i><dialog>i</dialog><ul><li hidden>j<li>k</ul>`, "a\n\n- k"},
		{"not hidden", `<p style="display:block;opacity:0.5;font-size:10px;color:red">a</p><p aria-hidden=false>b</p><dialog open>c</dialog>`, "a\n\nb\n\nc"},
		{"invisible characters", "<p>a\u200bb\u202ec\U000e0041d\u00ade\ufefff\ufe0fg\u3164h&#8203;i&#7;j\uf002k", "abcdefghijk"},
		{"elements of one's own", `<my-card hidden>a</my-card><my-card>b</my-card> c`, "b c"},
		{"nothing", "<html></html>", ""},
		{"no HTML", "just text", "just text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, cut := convert(t, c.page); got != c.want || cut {
				t.Errorf("got  %q\nwant %q, cut: %v", got, c.want, cut)
			}
		})
	}
}

// TestHostilePages has pages that take parsers and converters minutes and
// gigabytes.
func TestHostilePages(t *testing.T) {
	fonts := "<p>"
	for i := range 400 {
		fonts += fmt.Sprintf("<font a=%d><b a=%d>", i, i)
	}
	lines := strings.Repeat("line<br>\n", 10_000)
	numbered := strings.Repeat("<ol>"+strings.Repeat("<li>x", 1000)+"<li>", 6)
	for name, page := range map[string]string{
		"formats opened again":      fonts + "</p>" + strings.Repeat("<div>x</div>", 40_000),
		"pieces of text":            strings.Repeat("x</q>", 40_000),
		"comments":                  strings.Repeat("x<!---->", 40_000),
		"quotations":                strings.Repeat("<blockquote>", 500) + lines,
		"lists":                     strings.Repeat("<ul><li>", 250) + lines,
		"lists in quotations":       strings.Repeat("<blockquote><ul><li>", 100) + lines,
		"formats":                   strings.Repeat("<b><i>", 200) + lines,
		"depth":                     strings.Repeat("<div>", 40_000) + "end",
		"tables in tables":          strings.Repeat("<table><tr><td>x", 500) + "y",
		"a wide row and many short": "<table><tr>" + strings.Repeat("<td>a", 1000) + strings.Repeat("<tr><td>b", 40_000) + "</table>",
		"a long cell and many":      "<table><tr><td>" + strings.Repeat("x", 40_000) + strings.Repeat("<tr><td>b", 40_000) + "</table>",
		"items":                     "<ul>" + strings.Repeat("<li>x", 40_000),
		"links":                     strings.Repeat("<a href=x>", 40_000) + "x",
		"attributes":                "<a " + strings.Repeat("a ", 40_000) + ">x",
		"bodies":                    strings.Repeat("<body a><html b>", 30_000) + "x",
		"signs":                     strings.Repeat("[](*_`#|~", 40_000),
		"code":                      "<pre>" + strings.Repeat("`", 1<<18),
		"headings":                  strings.Repeat("<h6>", 250) + strings.Repeat("x<br>", 40_000),
		"headings in formats":       strings.Repeat("<b><h1><i><h2>", 16) + lines,
		"lines in numbered lists":   numbered + strings.Repeat("x<br>", 40_000),
		"code in numbered lists":    numbered + "<pre>" + strings.Repeat("\n", 1<<18),
		"empty code":                strings.Repeat("x ", 40_000) + strings.Repeat("<b><kbd></kbd></b><u></u>", 30_000),
		"hidden at the bottom":      strings.Repeat("<div>", 300) + "<p hidden>secret",
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			text, _ := convert(t, page)
			runtime.ReadMemStats(&after)
			if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 512 || len(text) > 4<<20 {
				t.Errorf("%d MiB were allocated for %d bytes", n, len(text))
			}
			if strings.Contains(text, "secret") {
				t.Error("what is hidden is shown")
			}
		})
	}
}

// TestSigns has signs that mean something in Markdown without end. What is escaped
// has to be found without looking for what belongs to each.
func TestSigns(t *testing.T) {
	const n = 1 << 12
	for _, sign := range []string{"[", "]", "(", ")", "*", "_", "`", "<", "#", "|", `\`, "!", "&", "~", "1.", "1) ", "- ", "+ ", "= ", "> ", "![", "[<br>", "*<br>", "<p>-", "<p>1."} {
		for _, in := range []string{"", "<table><td>", strings.Repeat("<ul><li>", maxNested), "<h1>", "<pre>"} {
			text, _ := convert(t, in+strings.Repeat(sign, n/len(sign)))
			if len(text) > 24*n {
				t.Errorf("%q in %q: %d bytes", sign, in, len(text))
			}
		}
	}
	if text, _ := convert(t, strings.Repeat("[", n)); text != strings.Repeat(`\[`, n) {
		t.Errorf("brackets that open nothing are %.20q", text)
	}
}

// ending is a context that ends when it has been asked so many times.
type ending struct {
	context.Context
	left *int
}

func (e ending) Err() error {
	if *e.left--; *e.left >= 0 {
		return nil
	}
	return context.Canceled
}

func TestConversionEnds(t *testing.T) {
	page := strings.Repeat("<p>x</p>", 1000)
	u := &url.URL{Scheme: "https", Host: "example.com"}
	after := func(n int) ending { return ending{context.WithoutCancel(t.Context()), &n} }
	if p := parse(after(10), page, u); p.nodes > 10 {
		t.Errorf("%d nodes were made", p.nodes)
	}
	for _, n := range []int{10, 3500} { // while it is read, while it is written
		text, _, err := markdown(after(n), page, u)
		if !errors.Is(err, context.Canceled) || text != "" {
			t.Errorf("%d bytes, %v", len(text), err)
		}
	}
}

func TestLargePages(t *testing.T) {
	text, cut := convert(t, strings.Repeat("<p>paragraph</p>", 80_000))
	if !cut || !strings.HasPrefix(text, "paragraph\n\nparagraph") || len(text) < 400_000 {
		t.Errorf("%d bytes, cut: %v", len(text), cut)
	}
	if text, cut := convert(t, "<p>"+strings.Repeat("long ", 1<<19)+"end"); !cut || len(text) > maxText {
		t.Errorf("%d bytes, cut: %v", len(text), cut)
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, page := range []string{
		"<table><tr><td>a<td>b</table>", "<ul><li>a<b>b</ul>c", "<a href='x)'>y</a><img alt='![x](y)'>", "<p hidden>a<p>b<pre>\n`</pre>",
	} {
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page string) {
		text, _ := convert(t, page)
		if visible(text) != text {
			t.Errorf("%q has something invisible", text)
		}
	})
}
