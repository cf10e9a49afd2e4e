package strictyaml

import (
	"fmt"
	"reflect"
	"strings"
)

// Nearest gives the candidate that is most like name, or nothing when none is
// near: a third of its letters may differ, or one of two.
func Nearest(name string, candidates []string) string {
	letters := len([]rune(name))
	best, least := "", min(letters, max(1, letters/3)+1)
	for _, c := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	return best
}

func didYouMean(name string, candidates []string) string {
	if n := Nearest(name, candidates); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return ""
}

// distance counts the letters to insert, delete, change or swap with their
// neighbour to make b of a (optimal string alignment).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	const most = 64 // no key is that long
	if len(x) > most || len(y) > most {
		return len(x) + len(y)
	}
	before, last := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row := make([]int, len(y)+1)
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(y)]
}

// belongs says where else in the tree of types a key exists: nowhere (empty),
// at the top level, or under up to three other keys, the shallowest first.
func (d *Decoder) belongs(key string, except *structShape) string {
	type place struct {
		s    *structShape
		path string
	}
	seen := map[*structShape]bool{}
	var queue []place
	visit := func(s shape, path string) {
		if inner, suffix := d.inner(s); inner != nil && !seen[inner] {
			seen[inner] = true
			queue = append(queue, place{inner, path + suffix})
		}
	}
	visit(d.root, "")
	var found []string
	for len(queue) > 0 && len(found) < 3 {
		p := queue[0]
		queue = queue[1:]
		p.s.load(d)
		if _, ok := p.s.index[key]; ok && p.s != except {
			if p.path == "" {
				return fmt.Sprintf("%q belongs at the top level", key)
			}
			found = append(found, p.path)
		}
		for _, f := range p.s.fields {
			visit(f.shape, strings.TrimPrefix(p.path+"."+f.key, "."))
		}
	}
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf("%q belongs under %s", key, oneOf(found))
}

// inner gives the struct inside a shape and how a path to it goes on.
func (d *Decoder) inner(s shape) (in *structShape, suffix string) {
	switch s := s.(type) {
	case *structShape:
		return s, ""
	case pointerShape:
		return d.inner(s.elem)
	case listShape:
		in, suffix = d.inner(s.elem)
		return in, "[]" + suffix
	case valueShape:
		if s.t.Kind() == reflect.Struct {
			return d.structOf(s.t), ""
		}
	}
	return nil, ""
}
