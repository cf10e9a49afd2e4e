package configfile

import (
	"fmt"
	"strings"
)

// around is how many lines a diff shows before and behind what has changed.
const around = 3

// Diff gives the difference of two texts in the unified format, as one hunk.
// from and to name the files.
func Diff(from, to, before, after string) string {
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	if a[len(a)-1] == "" {
		a = a[:len(a)-1]
	}
	if b[len(b)-1] == "" {
		b = b[:len(b)-1]
	}
	head, tail := 0, 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	start, rest := max(head-around, 0), max(tail-around, 0)
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%s +%s @@\n", from, to, lineRange(start, len(a)-rest), lineRange(start, len(b)-rest))
	show := func(mark string, lines []string) {
		for _, line := range lines {
			out.WriteString(mark + line)
			if !strings.HasSuffix(line, "\n") {
				out.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	show(" ", a[start:head])
	show("-", a[head:len(a)-tail])
	show("+", b[head:len(b)-tail])
	show(" ", a[len(a)-tail:len(a)-rest])
	return out.String()
}

// lineRange writes lines, counted from 0 and without the last, as a hunk's header
// has them.
func lineRange(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}
