// Package report prints problems of agent files: for people, for programs, for
// GitHub Actions and as SARIF.
//
// Start with [Formats].
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

// Format prints problems; version is the program's, which SARIF wants.
type Format func(w io.Writer, ps strictyaml.Problems, version string) error

// Formats are the ways of printing problems, by the name that --format takes.
var Formats = map[string]Format{
	"text":   func(w io.Writer, ps strictyaml.Problems, _ string) error { return Text(w, ps) },
	"json":   func(w io.Writer, ps strictyaml.Problems, _ string) error { return asJSON(w, ps) },
	"github": func(w io.Writer, ps strictyaml.Problems, _ string) error { return asGitHub(w, ps) },
	"sarif":  asSARIF,
}

// Text prints a line for each problem, and the source line where that helps.
func Text(w io.Writer, ps strictyaml.Problems) error {
	for _, p := range ps {
		if _, err := fmt.Fprintln(w, visible(p.String())); err != nil {
			return err
		}
		if e := p.Excerpt(); e != "" {
			if _, err := fmt.Fprintln(w, "    "+strings.ReplaceAll(e, "\n", "\n    ")); err != nil {
				return err
			}
		}
	}
	return nil
}

// visible writes control characters out: a problem is a line, and what stands
// in a file does not steer the terminal.
func visible(s string) string {
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func asJSON(w io.Writer, ps strictyaml.Problems) error {
	if ps == nil {
		ps = strictyaml.Problems{}
	}
	return indented(w, ps)
}

func indented(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Workflow commands of GitHub Actions escape the message and, more
// strictly, the properties.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func asGitHub(w io.Writer, ps strictyaml.Problems) error {
	for _, p := range ps {
		at := "file=" + githubProperty.Replace(filepath.ToSlash(p.File))
		if p.Line > 0 {
			at += fmt.Sprintf(",line=%d,col=%d", p.Line, p.Column)
		}
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", p.Severity, at, githubData.Replace(describe(p))); err != nil {
			return err
		}
	}
	return nil
}

// describe is a problem without its place and severity.
func describe(p strictyaml.Problem) string {
	s := p.Message
	if p.Path != "" {
		s = p.Path + ": " + s
	}
	if p.Hint != "" {
		s += " (" + p.Hint + ")"
	}
	return s
}

// The parts of SARIF 2.1.0 (OASIS) that a list of problems needs.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
	}
)

const sarifRuleID = "agent-file"

func asSARIF(w io.Writer, ps strictyaml.Problems, version string) error {
	results := make([]sarifResult, 0, len(ps))
	for _, p := range ps {
		at := sarifPhysical{Artifact: sarifArtifact{URI: (&url.URL{Path: filepath.ToSlash(p.File)}).String()}}
		if p.Line > 0 {
			at.Region = &sarifRegion{p.Line, p.Column}
		}
		results = append(results, sarifResult{sarifRuleID, string(p.Severity), sarifText{describe(p)}, []sarifLocation{{at}}})
	}
	return indented(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs: []sarifRun{{
			Tool:       sarifTool{sarifDriver{"adkmcp", version, []sarifRule{{sarifRuleID}}}},
			ColumnKind: "unicodeCodePoints",
			Results:    results,
		}},
	})
}
