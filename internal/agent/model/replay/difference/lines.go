package difference

import (
	"fmt"
	"slices"
	"strings"
)

// The bounds of what is shown of a difference.
const (
	maxLines = 20
	maxBytes = 1500
	maxNames = 300
	maxLine  = 160
	maxHunk  = 6 // of either side, at one place
	// maxTable bounds the work for a difference that is as short as can be; beyond it
	// all lines between the first and the last that differ are shown.
	maxTable = 1 << 20
)

// report is a text of a bounded size.
type report struct {
	strings.Builder
	lines int
}

// line adds a line if there is room for it.
func (r *report) line(text string) {
	switch r.lines++; {
	case r.lines > maxLines:
		return
	case r.lines == maxLines || r.Len()+len(text)+len("\n…\n") > maxBytes:
		r.lines, text = maxLines, "…"
	}
	r.WriteString(text + "\n")
}

// diff gives the lines that differ, marked - where they were recorded and + where they
// are now; nil if there are none.
func diff(recorded, now []string) []string {
	for len(recorded) > 0 && len(now) > 0 && recorded[0] == now[0] {
		recorded, now = recorded[1:], now[1:]
	}
	for len(recorded) > 0 && len(now) > 0 && recorded[len(recorded)-1] == now[len(now)-1] {
		recorded, now = recorded[:len(recorded)-1], now[:len(now)-1]
	}
	var out, gone, come []string
	if len(recorded)*len(now) > maxTable {
		return hunk(recorded, now)
	}
	common := longest(recorded, now)
	for i, j := 0, 0; i < len(recorded) || j < len(now); {
		switch {
		case i < len(recorded) && j < len(now) && recorded[i] == now[j]:
			out = append(out, hunk(gone, come)...)
			gone, come = nil, nil
			i, j = i+1, j+1
		case j == len(now) || i < len(recorded) && common[i+1][j] >= common[i][j+1]:
			gone = append(gone, recorded[i])
			i++
		default:
			come = append(come, now[j])
			j++
		}
	}
	return append(out, hunk(gone, come)...)
}

// longest gives the length of the longest common run of lines, gaps allowed, from
// each pair of places on.
func longest(a, b []string) [][]int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

// hunk shows lines that stand at the same place. Of long ones it shows where they
// begin to differ.
func hunk(gone, come []string) []string {
	show := func(mark string, lines, others []string) []string {
		var out []string
		for i, line := range lines {
			if i == maxHunk && len(lines) > maxHunk+1 {
				return append(out, fmt.Sprintf("%s… %d more lines", mark, len(lines)-i))
			}
			from := 0
			if i < len(others) {
				from = begin(line, others[i])
			}
			out = append(out, mark+shorten(line, from, maxLine))
		}
		return out
	}
	return slices.Concat(show("- ", gone, come), show("+ ", come, gone))
}

// begin is how many bytes two texts begin with alike.
func begin(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// shorten gives about most bytes of a line around the place that matters.
func shorten(line string, place, most int) string {
	if len(line) <= most {
		return line
	}
	from := max(0, min(place-most/4, len(line)-most))
	to := from + most
	text := strings.ToValidUTF8(line[from:to], "") // half a letter at either end
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}
