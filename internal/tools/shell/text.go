package shell

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/adkmcp/adkmcp/internal/tools/process"
)

// excerpt is an output stream that a model can read: valid UTF-8, without control
// characters but line ends and tabs. Like a stream it may lack its middle.
type excerpt struct {
	head, tail string
	skipped    int64 // bytes between them, as the program wrote them
}

// clean makes an excerpt of a stream, or a note where it is binary.
func clean(s *process.Stream) excerpt {
	head, tail := s.Head, s.Tail
	if s.Skipped > 0 {
		head, tail = wholeEnd(head), wholeStart(tail)
	}
	switch {
	case isBinary(head) || isBinary(tail):
		return excerpt{head: fmt.Sprintf("binary, %d bytes", s.Size())}
	case s.Skipped == 0:
		return excerpt{head: strings.TrimRight(plain(head), "\n")}
	}
	return excerpt{head: plain(head), tail: strings.TrimRight(plain(tail), "\n"), skipped: s.Size() - int64(len(head)) - int64(len(tail))}
}

// wholeEnd leaves out the beginning of a character at the end of b.
func wholeEnd(b []byte) []byte {
	for cut := 1; cut < utf8.UTFMax && cut <= len(b); cut++ {
		if last := b[len(b)-cut:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return b[:len(b)-cut]
			}
			break
		}
	}
	return b
}

// wholeStart leaves out the end of a character at the beginning of b.
func wholeStart(b []byte) []byte {
	for cut := 1; cut < utf8.UTFMax && len(b) > 0 && !utf8.RuneStart(b[0]); cut++ {
		b = b[1:]
	}
	return b
}

func (t excerpt) size() int { return len(t.head) + len(t.tail) + t.markerSize() }

func (t excerpt) markerSize() int {
	if t.skipped == 0 {
		return 0
	}
	return markerRoom
}

// markerRoom is as long as a marker can be.
var markerRoom = len(marker(1 << 62))

func marker(n int64) string { return fmt.Sprintf("\n[… %d bytes left out …]\n", n) }

// fit gives at most limit bytes of the text, from its beginning and its end,
// and says in between how many are missing.
func (t excerpt) fit(limit int) string {
	if t.size() <= limit {
		if t.skipped == 0 {
			return t.head
		}
		return t.head + marker(t.skipped) + t.tail
	}
	head, tail := t.head, t.tail
	if t.skipped == 0 {
		head, tail = t.head[:len(t.head)/2], t.head[len(t.head)/2:]
	}
	room := max(0, limit-markerRoom)
	front, back := share(room, len(head), len(tail))
	front, back = min(front, len(head)), max(0, len(tail)-back)
	for front > 0 && front < len(head) && !utf8.RuneStart(head[front]) {
		front--
	}
	for back < len(tail) && !utf8.RuneStart(tail[back]) {
		back++
	}
	missing := t.skipped + int64(len(head)-front) + int64(back)
	return head[:front] + marker(missing) + tail[back:]
}

// isBinary tells of bytes that are no text in any encoding we could show: a
// NUL, or much that is not UTF-8.
func isBinary(b []byte) bool {
	if bytes.IndexByte(b, 0) >= 0 {
		return true
	}
	if utf8.Valid(b) {
		return false
	}
	bad := 0
	for rest := b; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 {
			bad++
		}
		rest = rest[n:]
	}
	return bad*10 > len(b)*3
}

// plain makes bytes valid UTF-8 and takes out the sequences that steer
// terminals (ECMA-48): colours, titles, links, cursor movements. A carriage
// return, which progress bars use, becomes a line end.
func plain(b []byte) string {
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	var out strings.Builder
	out.Grow(len(s))
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == 0x1b && len(s) > 1:
			n = 1 + sequence(s[1:])
		case r >= 0x80 && r < 0xa0: // C1: the same as ESC and a letter
			n += controlString(byte(r-0x40), s[n:])
		case r == '\r':
			if !strings.HasPrefix(s[1:], "\n") {
				out.WriteByte('\n')
			}
		case r == '\n' || r == '\t' || r >= 0x20 && r != 0x7f:
			out.WriteString(s[:n])
		}
		s = s[n:]
	}
	return out.String()
}

// sequence gives the length of the escape sequence whose ESC stands before s.
func sequence(s string) int {
	if s[0] >= 0x40 && s[0] < 0x60 {
		return 1 + controlString(s[0], s[1:])
	}
	n := 0
	for n < len(s) && s[n] >= 0x20 && s[n] < 0x30 { // intermediate bytes
		n++
	}
	if n < len(s) && s[n] >= 0x30 && s[n] < 0x7f {
		n++
	}
	return n
}

// controlString gives the length of what belongs to the control function that
// stands before s, named by the letter that follows ESC. A text that another
// control character interrupts, such as a line end, is not taken for a part of
// it, so that output cannot be hidden that way.
func controlString(function byte, s string) int {
	switch function {
	case '[': // CSI: parameters, intermediates, a final byte
		n := 0
		for n < len(s) && s[n] >= 0x20 && s[n] < 0x40 {
			n++
		}
		if n < len(s) && s[n] >= 0x40 && s[n] < 0x7f {
			n++
		}
		return n
	case 'P', 'X', ']', '^', '_': // DCS, SOS, OSC, PM, APC: up to ST or BEL
		for i := range len(s) {
			switch {
			case s[i] == '\a':
				return i + 1
			case strings.HasPrefix(s[i:], "\x1b\\"), strings.HasPrefix(s[i:], "\u009c"):
				return i + 2
			case s[i] < 0x20, s[i] == 0xc2 && s[i+1] < 0xa0: // C0 or C1
				return 0
			}
		}
	}
	return 0
}
