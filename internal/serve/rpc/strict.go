package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDepth is how deep lists and objects of a message may be nested.
const maxDepth = 64

// errSyntax: the text is no JSON.
var errSyntax = errors.New("the message is not valid JSON")

// checkStrict refuses what two readers of the same JSON could understand
// differently: names that stand twice in an object or differ only in case
// (which encoding/json takes for the same), texts that are no Unicode, numbers
// that do not fit, nesting without end.
func checkStrict(data []byte) error {
	if !utf8.Valid(data) || !json.Valid(data) {
		return errSyntax
	}
	w := walker{data: data}
	for w.pos < len(data) {
		if err := w.step(); err != nil {
			return err
		}
	}
	return nil
}

// walker goes over JSON whose syntax is known to be right.
type walker struct {
	data   []byte
	pos    int
	levels []level
}

// level is a list (names is nil) or an object that is open.
type level struct {
	names map[string]bool
	value bool // in an object: the next string is a value
}

func (w *walker) step() error {
	switch c := w.data[w.pos]; {
	case c == '{' || c == '[':
		return w.open(c == '{')
	case c == '}' || c == ']':
		w.levels = w.levels[:len(w.levels)-1]
	case c == ':' || c == ',':
		if n := len(w.levels); n > 0 {
			w.levels[n-1].value = c == ':'
		}
	case c == '"':
		return w.text()
	case c == '-' || c >= '0' && c <= '9':
		return w.number()
	}
	w.pos++
	return nil
}

func (w *walker) open(object bool) error {
	if len(w.levels) == maxDepth {
		return fmt.Errorf("the message is nested deeper than %d", maxDepth)
	}
	var l level
	if object {
		l.names = make(map[string]bool, 4)
	}
	w.levels = append(w.levels, l)
	w.pos++
	return nil
}

func (w *walker) number() error {
	start := w.pos
	for w.pos < len(w.data) && strings.IndexByte("+-.0123456789eE", w.data[w.pos]) >= 0 {
		w.pos++
	}
	if _, err := strconv.ParseFloat(string(w.data[start:w.pos]), 64); err != nil {
		return errors.New("the message holds a number that is too large")
	}
	return nil
}

func (w *walker) text() error {
	start := w.pos
	escaped := false
	for w.pos++; w.data[w.pos] != '"'; w.pos++ {
		if w.data[w.pos] == '\\' {
			escaped = true
			w.pos++
		}
	}
	w.pos++
	raw := w.data[start:w.pos]
	if escaped && loneSurrogate(raw) {
		return errors.New("the message holds half a surrogate pair")
	}
	n := len(w.levels)
	if n == 0 || w.levels[n-1].names == nil || w.levels[n-1].value {
		return nil
	}
	return w.name(raw, n)
}

// name notes a name of the innermost object.
func (w *walker) name(raw []byte, depth int) error {
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return errSyntax
	}
	if strings.ContainsRune(name, 0) {
		return errors.New("a name in the message holds a NUL")
	}
	folded := strings.Map(fold, name)
	if right, ok := protocolNames[folded]; ok && depth <= 2 && name != right {
		return fmt.Errorf("the message has %q where the protocol has %q", name, right)
	}
	names := w.levels[depth-1].names
	if names[folded] {
		return fmt.Errorf("the name %q stands twice in one object of the message", name)
	}
	names[folded] = true
	return nil
}

// protocolNames are the names, by their folded form, that the library looks
// for at the top of a message and in its params. It would take them in any case.
var protocolNames = foldAll("jsonrpc", "id", "method", "params", "result", "error", "name", "arguments", "_meta",
	"cursor", "requestId", "protocolVersion", "capabilities", "clientInfo", "task", "inputResponses", "requestState")

func foldAll(names ...string) map[string]string {
	m := make(map[string]string, len(names))
	for _, n := range names {
		m[strings.Map(fold, n)] = n
	}
	return m
}

// fold gives the same rune for all that differ only in case.
func fold(r rune) rune {
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}

// loneSurrogate looks for \ud800 to \udfff that is no pair.
func loneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		switch high := unit(raw[i+1:]); {
		case high >= 0xdc00 && high < 0xe000:
			return true
		case high >= 0xd800 && high < 0xdc00:
			rest := raw[i+5:]
			if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' || unit(rest[2:]) < 0xdc00 || unit(rest[2:]) > 0xdfff {
				return true
			}
			i += 10
		default:
			i += 4
		}
	}
	return false
}

// unit reads four hexadecimal digits.
func unit(hex []byte) int {
	n, err := strconv.ParseUint(string(hex[:4]), 16, 32)
	if err != nil {
		return -1
	}
	return int(n)
}
