// Package show shows a person what a server sent: text without what a terminal
// would act on, and data as files.
//
// Start with [Printer.Result]; [Plain] is the rule for text.
package show

import (
	"fmt"
	"io"
)

// Printer prints what a tool call came to. What it cannot show it notes, and goes on.
type Printer struct {
	Out   io.Writer // the answer
	Notes io.Writer // what is said beside it
	// Raw says that no terminal is behind Out, which then gets the bytes as
	// they came.
	Raw bool
	// Dim and Red colour a note and a problem.
	Dim, Red func(string) string
	Dir      string // where data goes, made when needed; none if empty
	Failed   bool   // set by Problem
	files    int    // made so far, with gaps
}

// Text prints text of the answer. The error is that of the output, which nothing
// more can be printed to.
func (p *Printer) Text(text string) error {
	if !p.Raw {
		text = Plain(text)
	}
	_, err := fmt.Fprintln(p.Out, text)
	return err
}

// Note says something beside the answer.
func (p *Printer) Note(text string) { fmt.Fprintln(p.Notes, p.Dim(Plain(text))) }

// Problem says what is wrong with the answer.
func (p *Printer) Problem(err error) {
	p.Failed = true
	fmt.Fprintln(p.Notes, p.Red(Plain(err.Error())))
}
