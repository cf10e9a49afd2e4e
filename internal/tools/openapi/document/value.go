package document

import (
	"bytes"
	"encoding/json"
	"iter"
)

// Value is one JSON value of a document, without white space around it; nil where
// there is none.
type Value []byte

// Members are the names and values of an object, in their order; nothing for any
// other value. A name that stands twice comes twice.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if !v.IsObject() {
			return
		}
		for i := space(v, 1); v[i] != '}'; {
			end := skip(v, i)
			name := unquote(v[i:end])
			i = space(v, space(v, end)+1) // behind the colon
			end = skip(v, i)
			if !yield(name, v[i:end]) {
				return
			}
			if i = space(v, end); v[i] == ',' {
				i = space(v, i+1)
			}
		}
	}
}

// Items are the items of a list; nothing for any other value.
func (v Value) Items() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if !v.IsList() {
			return
		}
		for i := space(v, 1); v[i] != ']'; {
			end := skip(v, i)
			if !yield(v[i:end]) {
				return
			}
			if i = space(v, end); v[i] == ',' {
				i = space(v, i+1)
			}
		}
	}
}

// Get gives the member of that name, the last one where there are several, or nil.
func (v Value) Get(name string) Value {
	var found Value
	for n, member := range v.Members() {
		if n == name {
			found = member
		}
	}
	return found
}

// IsObject is true for an object.
func (v Value) IsObject() bool { return v.starts('{') }

// IsList is true for an array.
func (v Value) IsList() bool { return v.starts('[') }

// IsText is true for a string.
func (v Value) IsText() bool { return v.starts('"') }

// IsNumber is true for a number.
func (v Value) IsNumber() bool { return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9') }

// IsTrue is true for true and for nothing else.
func (v Value) IsTrue() bool { return string(v) == "true" }

// IsBool is true for true and false.
func (v Value) IsBool() bool { return v.IsTrue() || string(v) == "false" }

func (v Value) starts(c byte) bool { return len(v) > 0 && v[0] == c }

// Text is what a string holds; empty for any other value.
func (v Value) Text() string {
	if !v.IsText() {
		return ""
	}
	return unquote(v)
}

// Texts are the strings of a list.
func (v Value) Texts() []string {
	var list []string
	for item := range v.Items() {
		if item.IsText() {
			list = append(list, item.Text())
		}
	}
	return list
}

func unquote(v Value) string {
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1])
	}
	var s string
	_ = json.Unmarshal(v, &s) // a string of a document that has been checked
	return s
}

// space gives the index of the first byte from i on that is no white space.
func space(v []byte, i int) int {
	for v[i] == ' ' || v[i] == '\n' || v[i] == '\r' || v[i] == '\t' {
		i++
	}
	return i
}

// skip gives the index behind the value that begins at i. The JSON is valid.
func skip(v []byte, i int) int {
	switch v[i] {
	case '"':
		return skipText(v, i)
	case '{', '[':
		depth := 0
		for ; ; i++ {
			switch v[i] {
			case '"':
				i = skipText(v, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for i < len(v) && v[i] != ',' && v[i] != '}' && v[i] != ']' && v[i] > ' ' {
		i++
	}
	return i
}

func skipText(v []byte, i int) int {
	for i++; v[i] != '"'; i++ {
		if v[i] == '\\' {
			i++
		}
	}
	return i + 1
}
