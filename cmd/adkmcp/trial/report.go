package trial

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/show"
)

// Printer prints what came of cases.
type Printer interface {
	// Case prints a case when it is over; o is its file so far.
	Case(o *Outcome, c *Case) error
	// End prints what is to be said of all.
	End(all []*Outcome) error
}

// Formats are the ways of printing, by the name that --format takes.
var Formats = map[string]func(w io.Writer) Printer{
	"text":   func(w io.Writer) Printer { return &lines{w: w} },
	"json":   func(w io.Writer) Printer { return &asJSON{w: w} },
	"github": func(w io.Writer) Printer { return &github{w: w} },
}

// Counts are how many cases had which status.
type Counts struct {
	Cases  int `json:"cases"`
	Passed int `json:"passed"`
	Failed int `json:"failed"`
	Broken int `json:"broken"`
}

// Count counts the cases of files.
func Count(all []*Outcome) Counts {
	var n Counts
	for _, o := range all {
		for _, c := range o.Cases {
			n.Cases++
			switch c.Status {
			case Passed:
				n.Passed++
			case Failed:
				n.Failed++
			case Broken:
				n.Broken++
			}
		}
	}
	return n
}

// String is the last line of a report.
func (n Counts) String() string {
	s := fmt.Sprintf("%s: %d passed", counted(n.Cases, "case"), n.Passed)
	if n.Failed > 0 {
		s += fmt.Sprintf(", %d failed", n.Failed)
	}
	if n.Broken > 0 {
		s += fmt.Sprintf(", %d broken", n.Broken)
	}
	return s
}

// lines prints a line for each case, and below it why it did not pass.
type lines struct {
	w    io.Writer
	file string // whose cases are being printed
}

// Case implements [Printer].
func (p *lines) Case(o *Outcome, c *Case) error {
	var b strings.Builder
	if p.file != o.File {
		fmt.Fprintln(&b, o.File)
		p.file = o.File
	}
	word := "FAIL"
	if c.Status == Passed {
		word = "ok  "
	}
	fmt.Fprintf(&b, "  %s  %s (%.2fs)\n", word, oneLine(c.Name), c.Seconds)
	for _, line := range reasons(c) {
		fmt.Fprintf(&b, "        %s\n", line)
	}
	_, err := io.WriteString(p.w, show.Plain(b.String()))
	return err
}

// End implements [Printer].
func (p *lines) End(all []*Outcome) error {
	if len(all) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(p.w, Count(all))
	return err
}

// reasons are the lines that say why a case did not pass, and what it did.
func reasons(c *Case) []string {
	if c.Status == Passed {
		return nil
	}
	var lines []string
	for _, f := range c.Failures {
		head := f.What
		if f.Turn > 0 {
			head = fmt.Sprintf("turn %d: %s", f.Turn, f.What)
		}
		for i, line := range strings.Split(head, "\n") { // such as what differs from a recording
			if i > 0 {
				line = "  " + line
			}
			lines = append(lines, oneLine(line))
		}
		if f.Want != "" {
			lines = append(lines, "  want "+oneLine(f.Want), "  got  "+oneLine(f.Got))
		}
	}
	if len(c.Calls) > 0 {
		lines = append(lines, "the calls were "+oneLine(list(c.Calls)))
	}
	return lines
}

// oneLine writes the ends of lines out.
func oneLine(s string) string {
	return strings.NewReplacer("\r", `\r`, "\n", `\n`, "\t", " ").Replace(s)
}

// asJSON prints one object when all is over.
type asJSON struct{ w io.Writer }

// Case implements [Printer].
func (*asJSON) Case(*Outcome, *Case) error { return nil }

// End implements [Printer].
func (j *asJSON) End(all []*Outcome) error {
	if all == nil {
		all = []*Outcome{}
	}
	enc := json.NewEncoder(j.w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Files []*Outcome `json:"files"`
		Counts
	}{all, Count(all)})
}

// github prints workflow commands of GitHub Actions, an error for each case that
// did not pass.
type github struct{ w io.Writer }

// Workflow commands escape the message and, more strictly, the properties.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// Case implements [Printer].
func (g *github) Case(o *Outcome, c *Case) error {
	if c.Status == Passed {
		return nil
	}
	_, err := fmt.Fprintf(g.w, "::error file=%s,line=%d,title=%s::%s\n", githubProperty.Replace(filepath.ToSlash(o.File)), c.Line,
		githubProperty.Replace(show.Plain(c.Name)), githubData.Replace(show.Plain(strings.Join(reasons(c), "\n"))))
	return err
}

// End implements [Printer].
func (g *github) End(all []*Outcome) error { return (&lines{w: g.w}).End(all) }
