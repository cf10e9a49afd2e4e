package webclient

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// sniffBytes is how much of a body is looked at to guess its encoding.
const sniffBytes = 1024

// toUTF8 gives a text body in UTF-8, without its byte order mark. What cannot
// be decoded becomes U+FFFD. The label is the declared charset's, or empty.
func toUTF8(data []byte, label string, cut bool) string {
	if enc := encodingOf(data, label); enc != nil {
		if decoded, err := enc.NewDecoder().Bytes(data); err == nil {
			data = decoded
		}
	}
	if cut {
		data = trimPartialRune(data)
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	return strings.ToValidUTF8(string(data), "\uFFFD")
}

// encodingOf finds the encoding of a text: its byte order mark, then the
// charset that the server declared, then what the bytes look like. It is nil
// for UTF-8. The last resort is windows-1252, of which latin-1 is a part, as in
// the WHATWG encoding standard.
func encodingOf(data []byte, label string) encoding.Encoding {
	switch {
	case bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}):
		return nil
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	}
	guess, wide := guessUTF16(data)
	switch {
	case label == "utf-8":
		return nil
	case label == "utf-16" && wide: // the label leaves the byte order open
		return guess
	case label != "":
		return lookup(label)
	case wide:
		return guess
	case utf8.Valid(trimPartialRune(data)):
		return nil
	}
	if m := metaCharset().FindSubmatch(data[:min(len(data), sniffBytes)]); m != nil {
		if enc := lookup(string(m[1])); enc != nil {
			return enc
		}
	}
	return charmap.Windows1252
}

// metaCharset finds what a page says of its own charset.
var metaCharset = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<(?:meta|\?xml)\b[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([\w:.-]+)`)
})

// lookup finds an encoding by one of its names in the WHATWG encoding
// standard; nil for UTF-8 and for an unknown name. (x/net/html/charset does
// more, and brings a parser for HTML along.)
func lookup(label string) encoding.Encoding {
	enc, err := htmlindex.Get(label)
	if err != nil || enc == unicode.UTF8 {
		return nil
	}
	return enc
}

// charsetName is the canonical name of a declared charset, empty for one that
// is not known.
func charsetName(label string) string {
	if label = strings.ToLower(strings.TrimSpace(label)); label == "" || label == "utf-8" || label == "utf-16" {
		return label
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return ""
	}
	name, err := htmlindex.Name(enc)
	if err != nil {
		return ""
	}
	return name
}

// guessUTF16 recognises UTF-16 without a byte order mark by the zero bytes of
// the ASCII characters in it: they stand on one side of the pairs only.
func guessUTF16(data []byte) (encoding.Encoding, bool) {
	head := data[:min(len(data), sniffBytes)&^1]
	var even, odd int
	for i := 0; i < len(head); i += 2 {
		if head[i] == 0 {
			even++
		}
		if head[i+1] == 0 {
			odd++
		}
	}
	most := len(head) / 5 // two fifths of the pairs
	switch {
	case even == 0 && odd > most:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), true
	case odd == 0 && even > most:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), true
	}
	return nil, false
}

// trimPartialRune removes the first bytes of a character whose rest was cut off.
func trimPartialRune(data []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(data); i++ {
		tail := data[len(data)-i:]
		if utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return data[:len(data)-i]
			}
			break
		}
	}
	return data
}

func hasBOM(data []byte) bool {
	return bytes.HasPrefix(data, []byte{0xfe, 0xff}) || bytes.HasPrefix(data, []byte{0xff, 0xfe}) ||
		bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf})
}
