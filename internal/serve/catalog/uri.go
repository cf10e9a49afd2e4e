package catalog

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pattern is a URI, or a template of URIs, in the parts that slashes make. The
// check of agent files sees that a part has at most one place.
type pattern []part

// part is text, or a place with text around it.
type part struct{ before, place, after string }

func newPattern(uri string) pattern {
	var p pattern
	for text := range strings.SplitSeq(uri, "/") {
		before, rest, _ := strings.Cut(text, "{")
		place, after, _ := strings.Cut(rest, "}")
		p = append(p, part{before, place, after})
	}
	return p
}

// match gives the values of the places if the URI fits. A value is what hosts
// make of one by RFC 6570: at least one character, the unreserved ones as they
// are and others as %20 and the like; it comes decoded.
func (p pattern) match(uri string) (values map[string]string, ok bool) {
	texts := strings.Split(uri, "/")
	if len(texts) != len(p) {
		return nil, false
	}
	for i, q := range p {
		if q.place == "" {
			if texts[i] != q.before {
				return nil, false
			}
			continue
		}
		raw, starts := strings.CutPrefix(texts[i], q.before)
		raw, ends := strings.CutSuffix(raw, q.after)
		value, readable := decode(raw)
		if !starts || !ends || !readable {
			return nil, false
		}
		if values == nil {
			values = make(map[string]string, len(p))
		}
		values[q.place] = value
	}
	return values, true
}

// decode reads the value of a place.
func decode(raw string) (value string, ok bool) {
	if raw == "" || strings.ContainsFunc(raw, isReserved) {
		return "", false
	}
	value, err := url.PathUnescape(raw)
	return value, err == nil && utf8.ValidString(value) && !strings.ContainsFunc(value, unicode.IsControl)
}

// escape writes a value so that decode gives it again.
func escape(value string) string {
	var b strings.Builder
	for i := range len(value) {
		if c := value[i]; c == '%' || c >= utf8.RuneSelf || isReserved(rune(c)) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// isReserved reports a character that stands in no value, encoded or not (RFC
// 3986, section 2.3).
func isReserved(r rune) bool {
	letter := 'a' <= r|0x20 && r|0x20 <= 'z' && r < utf8.RuneSelf
	return !letter && (r < '0' || r > '9') && !strings.ContainsRune("-._~%", r)
}

// overlaps reports whether some URI might fit both. It may say so of patterns
// whose values would have to be odd ones, never the other way round.
func (p pattern) overlaps(q pattern) bool {
	if len(p) != len(q) {
		return false
	}
	for i := range p {
		if !p[i].overlaps(q[i]) {
			return false
		}
	}
	return true
}

func (p part) overlaps(q part) bool {
	switch {
	case p.place == "" && q.place == "":
		return p.before == q.before
	case p.place == "":
		return strings.HasPrefix(p.before, q.before) && strings.HasSuffix(p.before, q.after) && len(p.before) > len(q.before)+len(q.after)
	case q.place == "":
		return q.overlaps(p)
	}
	return (strings.HasPrefix(p.before, q.before) || strings.HasPrefix(q.before, p.before)) &&
		(strings.HasSuffix(p.after, q.after) || strings.HasSuffix(q.after, p.after))
}
