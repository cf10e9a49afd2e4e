package webpage

import (
	"context"
	"net/url"
	"strings"
	"unicode"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
)

// markdown turns a page that came from u into Markdown. What people do not see of
// it is left out, and so are images, since whoever shows the Markdown might load
// them: their descriptions stay. cut says that the page was larger than the bounds.
func markdown(ctx context.Context, page string, u *url.URL) (text string, cut bool, err error) {
	p := parse(ctx, page, u)
	if ctx.Err() != nil {
		return "", false, context.Cause(ctx)
	}
	conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(
		table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), // else one long cell makes every row long
		table.WithNewlineBehavior(table.NewlineBehaviorPreserve),
		table.WithHeaderPromotion(true),
	)))
	// The library would look for the end of a link behind each bracket.
	conv.Register.UnEscaper(func(text []byte, at int) int {
		if text[at] == '[' {
			return 1
		}
		return -1
	}, converter.PriorityEarly)
	conv.Register.Renderer(func(converter.Context, converter.Writer, *html.Node) converter.RenderStatus {
		if ctx.Err() != nil {
			return converter.RenderSuccess // which leaves out what is in it
		}
		return converter.RenderTryNext
	}, converter.PriorityEarly)
	out, err := conv.ConvertNode(p.root)
	if ctx.Err() != nil {
		return "", false, context.Cause(ctx)
	}
	if err != nil {
		return "", false, err
	}
	text = strings.TrimSpace(visible(string(out)))
	if p.title != "" {
		text = "Title: " + p.title + "\n\n" + text
	}
	return text, p.cut, nil
}

// visible drops what cannot be seen in a text: control characters but for line
// breaks and tabs, and characters without a form, with which text can be hidden or
// its direction turned.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= ' ' && r < 0x7f, r == '\n', r == '\t':
			return r
		case r == '\u2028', r == '\u2029', r == '\u0085':
			return '\n'
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			return -1
		}
		return r
	}, s)
}

// link gives an address in full, with nothing in it that could end a Markdown
// link; none for one that leads to no other page.
func link(base *url.URL, href string) string {
	href = strings.TrimSpace(href)
	if href == "" || href[0] == '#' {
		return ""
	}
	u, err := base.Parse(href)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return ""
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(u.String()) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~:/?#[]@!$&'*+,;=%", c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	if b.Len() > maxHref {
		return ""
	}
	return b.String()
}
