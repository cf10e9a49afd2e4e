package condition

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/expr-lang/expr/file"
)

// place says where in a condition something stands; columns count from 1, in
// characters.
func place(text string, at file.Location) string {
	before := []rune(text)
	before = before[:min(max(at.From, 0), len(before))]
	line, column := 1, len(before)+1
	for i, r := range before {
		if r == '\n' {
			line, column = line+1, len(before)-i
		}
	}
	if line == 1 {
		return fmt.Sprintf("at column %d", column)
	}
	return fmt.Sprintf("at line %d, column %d", line, column)
}

// member writes a member as the language does.
func member(owner, name string) string {
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return fmt.Sprintf("%s[%q]", owner, name)
		}
	}
	return owner + "." + name
}

// list is a list in a sentence.
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// suggestion names what of names is like name, or else what there is.
func suggestion(name string, names []string) string {
	const near, shown = 3, 10
	if len(names) == 0 {
		return "it has none"
	}
	alike := slices.Sorted(slices.Values(names))
	alike = slices.DeleteFunc(alike, func(s string) bool { return distance(name, s) > len([]rune(name))/2 })
	slices.SortStableFunc(alike, func(a, b string) int { return distance(name, a) - distance(name, b) })
	switch {
	case len(alike) > 0:
		return "near: " + strings.Join(alike[:min(near, len(alike))], ", ")
	case len(names) > shown:
		return fmt.Sprintf("it has %s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return "it has " + list(names)
}

// distance counts the letters to insert, delete or change to make b of a. Case
// does not count.
func distance(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	const most = 64 // no name is that long
	if len(x) > most || len(y) > most {
		return len(x) + len(y)
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			change := diagonal
			if x[i] != y[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(y)]
}

// plainWords writes the names of Go types in a message as words of the agent file,
// and the message as one line.
func plainWords(message string) string {
	message, _, _ = strings.Cut(message, ": strconv.")
	message = strings.NewReplacer("map[string]interface {}", "mapping", "map[string]any", "mapping",
		"[]interface {}", "list", "[]any", "list", "[]int", "list", "interface {}", "any value", "<nil>", "nil",
		"(mismatched", "(not for", "token ", "").Replace(message)
	words := map[string]string{"int": "integer", "float64": "number", "bool": "true or false", "string": "text", "array": "list"}
	var b, word strings.Builder
	flush := func() {
		w := word.String()
		word.Reset()
		if plain, ok := words[w]; ok {
			w = plain
		}
		b.WriteString(w)
	}
	for _, r := range message {
		switch {
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			word.WriteRune(r)
			continue
		case r == '\n':
			r = ' '
		}
		flush()
		b.WriteRune(r)
	}
	flush()
	return b.String()
}
