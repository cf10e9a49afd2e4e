package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// The bounds of a document. What is beyond them is refused.
const (
	MaxBytes = 16 << 20
	maxDepth = 200
)

// Document is an OpenAPI document. It is for one goroutine.
type Document struct {
	Root Value
	// Old is set for OpenAPI 3.0, whose schemas are not yet JSON Schema.
	Old bool
	// index has the members of objects that references lead into.
	index map[string]map[string]Value
}

// Parse reads a document of OpenAPI 3 in JSON or YAML. One that refers to another
// document is refused.
func Parse(data []byte) (*Document, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	trimmed := bytes.TrimSpace(data)
	switch {
	case len(trimmed) == 0:
		return nil, errors.New("is empty")
	case len(data) > MaxBytes:
		return nil, fmt.Errorf("is larger than %d MiB", MaxBytes>>20)
	case !utf8.Valid(data):
		return nil, errors.New("is not UTF-8")
	}
	if !json.Valid(trimmed) {
		var err error
		if trimmed, err = fromYAML(data); err != nil {
			return nil, err
		}
	}
	d := &Document{Root: trimmed, index: map[string]map[string]Value{}}
	switch version := d.Root.Get("openapi").Text(); {
	case strings.HasPrefix(version, "3.0"):
		d.Old = true
	case strings.HasPrefix(version, "3."):
	case d.Root.Get("swagger") != nil:
		return nil, errors.New("is Swagger 2.0; convert it to OpenAPI 3")
	default:
		return nil, errors.New(`is not an OpenAPI 3 document: there is no "openapi: 3.…" in it`)
	}
	w := walk{data: d.Root}
	if _, err := w.value(0, true); err != nil {
		return nil, err
	}
	return d, nil
}

// Resolve gives what a reference within the document leads to.
func (d *Document) Resolve(ref string) (Value, error) {
	pointer, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, fmt.Errorf("%q leads to another document", ref)
	}
	if pointer == "" {
		return d.Root, nil
	}
	if decoded, err := url.PathUnescape(pointer); err == nil {
		pointer = decoded
	}
	if !strings.HasPrefix(pointer, "/") {
		return nil, fmt.Errorf("%q is no path into the document", ref)
	}
	if v := d.at(pointer); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("%q leads nowhere", ref)
}

// at follows a JSON pointer (RFC 6901).
func (d *Document) at(pointer string) Value {
	cut := strings.LastIndexByte(pointer, '/')
	if cut < 0 {
		return d.Root
	}
	up, name := pointer[:cut], pointer[cut+1:]
	members, known := d.index[up]
	if !known {
		parent := d.at(up)
		members = map[string]Value{}
		for n, v := range parent.Members() {
			members[n] = v
		}
		i := 0
		for v := range parent.Items() {
			members[fmt.Sprint(i)] = v
			i++
		}
		d.index[up] = members
	}
	return members[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
}

// walk goes through a document once, to find what Parse refuses.
type walk struct {
	data []byte
	path []string
}

// value checks the value at i and gives the index behind it. In an object whose
// keys are names that somebody has chosen, no key has a meaning.
func (w *walk) value(i int, meaning bool) (int, error) {
	if len(w.path) > maxDepth {
		return i, fmt.Errorf("%s: is nested deeper than %d levels", w.place(), maxDepth)
	}
	switch w.data[i] {
	case '{':
		return w.object(i, meaning)
	case '[':
		i = space(w.data, i+1)
		for n := 0; w.data[i] != ']'; n++ {
			w.path = append(w.path, fmt.Sprint(n))
			end, err := w.value(i, true)
			if err != nil {
				return i, err
			}
			w.path = w.path[:len(w.path)-1]
			if i = space(w.data, end); w.data[i] == ',' {
				i = space(w.data, i+1)
			}
		}
		return i + 1, nil
	}
	return skip(w.data, i), nil
}

func (w *walk) object(i int, meaning bool) (int, error) {
	i = space(w.data, i+1)
	for w.data[i] != '}' {
		end := skipText(w.data, i)
		name := unquote(w.data[i:end])
		i = space(w.data, space(w.data, end)+1)
		w.path = append(w.path, name)
		var err error
		switch {
		case meaning && isData(name):
			end = skip(w.data, i)
		case name == "$ref" && w.data[i] == '"':
			end = skip(w.data, i)
			if ref := unquote(w.data[i:end]); !strings.HasPrefix(ref, "#") {
				return i, fmt.Errorf("%s: refers to another document, %q, which is not read; put it all into one document", w.place(), ref)
			}
		default:
			end, err = w.value(i, name != "properties" || !meaning)
		}
		if err != nil {
			return i, err
		}
		w.path = w.path[:len(w.path)-1]
		if i = space(w.data, end); w.data[i] == ',' {
			i = space(w.data, i+1)
		}
	}
	return i + 1, nil
}

// isData reports whether a key holds a value that is not the document's own.
func isData(key string) bool {
	switch key {
	case "example", "examples", "default", "enum", "const":
		return true
	}
	return strings.HasPrefix(key, "x-")
}

func (w *walk) place() string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var b strings.Builder
	b.WriteByte('#')
	for i, name := range w.path {
		if i == 20 { // enough to find it
			b.WriteString("/…")
			break
		}
		b.WriteString("/" + escape.Replace(name))
	}
	return b.String()
}
