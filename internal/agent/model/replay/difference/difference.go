// Package difference shows to people how a request differs from a recorded one.
//
// Start with [Show]. parts.go finds the parts that differ and gives them as lines,
// lines.go says which lines of a part differ and keeps them short.
package difference

import "strings"

// Request is one as requests are compared. A text that is empty stands for nothing.
type Request struct {
	System   string
	Tools    string   // JSON, a list of objects with name, description and parameters
	Hosted   string   // one a line
	Schema   string   // JSON
	Contents []string // each JSON, with role and parts
	Answer   string   // JSON
}

// Show gives the names of the parts in which two requests differ, and the lines that
// differ in each, marked - where they were recorded and + where they are now. Both
// are of a bounded size; the lines end in a line end.
func Show(recorded, now *Request) (parts, text string) {
	var names []string
	var out report
	for _, d := range list(recorded, now) {
		names = append(names, d.part)
		out.line(d.part + ":")
		for _, line := range d.lines {
			out.line(line)
		}
	}
	return shorten(strings.Join(names, ", "), 0, maxNames), out.String()
}

// Alike counts the bytes that two texts begin and end with alike.
func Alike(a, b string) int {
	n := begin(a, b)
	a, b = a[n:], b[n:]
	m := 0
	for m < len(a) && m < len(b) && a[len(a)-1-m] == b[len(b)-1-m] {
		m++
	}
	return n + m
}
