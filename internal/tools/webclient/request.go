package webclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Effect says what a method does to the world, RFC 9110 section 9.2.
type Effect struct{ Safe, Idempotent bool }

// MethodEffect gives the effect of a method; a method that is not known cannot be
// used.
func MethodEffect(method string) (e Effect, known bool) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return Effect{Safe: true, Idempotent: true}, true
	case http.MethodPut, http.MethodDelete:
		return Effect{Idempotent: true}, true
	case http.MethodPost, http.MethodPatch:
		return Effect{}, true
	}
	return Effect{}, false
}

// reservedHeaders belong to the connection or decide where a request goes.
var reservedHeaders = map[string]bool{
	"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Keep-Alive": true,
	"Proxy-Connection": true, "Proxy-Authorization": true, "Te": true, "Trailer": true, "Upgrade": true,
	"Expect": true, "Accept-Encoding": true,
}

// ReservedHeader reports whether a header is the client's own to set. The name is
// canonical.
func ReservedHeader(name string) bool { return reservedHeaders[name] }

// IsControl reports whether a character cannot stand in the value of a header.
func IsControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// CheckAllowHosts refuses what could never match, before somebody wonders.
func CheckAllowHosts(hosts []string) error {
	for _, h := range hosts {
		u, err := url.Parse("//" + h)
		if err != nil || u.Host != h || strings.ContainsAny(h, "*/@") || u.Hostname() == "" {
			return fmt.Errorf("allow_hosts: %q is not a host name such as api.example.com or api.example.com:8443", h)
		}
	}
	return nil
}

// CheckPath refuses a path, percent-encoded, that arguments have turned into
// another one than was meant.
func CheckPath(path string) error {
	for segment := range strings.SplitSeq(path, "/") {
		name, _, _ := strings.Cut(segment, ";") // servers drop what follows
		if decoded, err := url.PathUnescape(name); err != nil || decoded == "." || decoded == ".." {
			return errors.New(`an argument would make a part of the URL's path "." or "..", which servers resolve to another path`)
		}
	}
	return nil
}

// Reserved are the characters that have a meaning in a URL (RFC 3986, section
// 2.2), without "#".
const Reserved = ":/?[]@!$&'()*+,;="

const upperHex = "0123456789ABCDEF"

// Escape percent-encodes the bytes of s (RFC 3986) except unreserved characters
// and those to keep; a kept "%" is one that begins an encoded byte.
func Escape(s, keep string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && strings.Contains(keep, "%") && !isEncoded(s[i:]):
			b.WriteString("%25")
		case c < utf8.RuneSelf && (unreserved(c) || strings.IndexByte(keep, c) >= 0):
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
	return b.String()
}

func unreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func isEncoded(s string) bool {
	if len(s) < 3 {
		return false
	}
	_, err := strconv.ParseUint(s[1:3], 16, 8)
	return err == nil
}
