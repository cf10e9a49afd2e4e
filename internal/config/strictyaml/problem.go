package strictyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says whether a [Problem] stops a file from being used.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Problem is one thing that is wrong with a file, and where.
type Problem struct {
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	// Line and Column count from 1, columns in characters; both are 0 where
	// the problem is with the file or folder itself.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Path is the key path, such as tools[0].shell.command; empty for the
	// whole file.
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	// Source is the line itself where its characters are the problem.
	Source string `json:"source,omitempty"`
}

// String gives the problem on one line:
// file:line:column: severity: path: message (hint).
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	fmt.Fprintf(&b, ": %s: ", p.Severity)
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	return b.String()
}

// Excerpt gives the source line with a caret under the column, two lines
// without a last newline; it is empty where there is no Source. Tabs are shown
// as arrows, so that the caret stands where it should.
func (p Problem) Excerpt() string {
	if p.Source == "" {
		return ""
	}
	return strings.ReplaceAll(p.Source, "\t", "→") + "\n" + strings.Repeat(" ", max(p.Column-1, 0)) + "^"
}

// Problems are the problems of one or several files.
type Problems []Problem

// HasErrors reports whether one of them is an error.
func (ps Problems) HasErrors() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Severity == Error })
}

// Sort orders them by file, line and column, and drops what is said twice: text
// that several aliases share is read several times.
func (ps Problems) Sort() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(ps, func(a, b Problem) bool {
		a.Path = b.Path
		return a == b
	})
}

// MaxProblems bounds what is reported on one file; nobody reads more.
const MaxProblems = 1000

// collector gathers the problems of one file.
type collector struct {
	file string
	list Problems
}

func (c *collector) add(p Problem) {
	p.File = c.file
	switch {
	case len(c.list) < MaxProblems:
		c.list = append(c.list, p)
	case len(c.list) == MaxProblems:
		c.list = append(c.list, Problem{Severity: Error, File: c.file, Line: p.Line, Column: p.Column,
			Message: fmt.Sprintf("more than %d problems; the rest is not shown", MaxProblems)})
	}
}
