package trial

import (
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/show"
)

// The elements of a JUnit report that GitLab and Jenkins read.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		junitCounts
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name string `xml:"name,attr"`
		File string `xml:"file,attr"`
		junitCounts
		Cases []junitCase `xml:"testcase"`
	}
	junitCounts struct {
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Time     string `xml:"time,attr"` // seconds
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a report in XML as JUnit does: a suite for each file, a failure for
// an expectation that did not come true, an error for a case that is broken.
func JUnit(w io.Writer, all []*Outcome) error {
	report := junitSuites{junitCounts: counts(all)}
	for _, o := range all {
		s := junitSuite{Name: o.Agent, File: filepath.ToSlash(o.File), junitCounts: counts([]*Outcome{o})}
		for _, c := range o.Cases {
			s.Cases = append(s.Cases, junitOf(o, c))
		}
		report.Suites = append(report.Suites, s)
	}
	text, err := xml.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(slices.Concat([]byte(xml.Header), text, []byte("\n"))) // at once, for whoever takes secrets out
	return err
}

func junitOf(o *Outcome, c *Case) junitCase {
	j := junitCase{Name: show.Plain(c.Name), Class: o.Agent, File: filepath.ToSlash(o.File), Line: c.Line, Time: seconds(c.Seconds)}
	if c.Status == Passed {
		return j
	}
	p := &junitProblem{Type: string(c.Status), Text: show.Plain(strings.Join(reasons(c), "\n"))}
	if len(c.Failures) > 0 {
		p.Message = show.Plain(c.Failures[0].String())
	}
	if c.Status == Broken {
		j.Error = p
	} else {
		j.Failure = p
	}
	return j
}

func counts(all []*Outcome) junitCounts {
	n, took := Count(all), 0.0
	for _, o := range all {
		for _, c := range o.Cases {
			took += c.Seconds
		}
	}
	return junitCounts{n.Cases, n.Failed, n.Broken, seconds(took)}
}

func seconds(n float64) string { return fmt.Sprintf("%.3f", n) }
