package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/load"
)

// reportFormats are the ways of printing problems.
var reportFormats = map[string]func(io.Writer, load.Problems) error{
	"text":   reportText,
	"json":   reportJSON,
	"github": reportGitHub,
	"sarif":  reportSARIF,
}

func reportText(w io.Writer, ps load.Problems) error {
	for _, p := range ps {
		if _, err := fmt.Fprintln(w, p); err != nil {
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

func reportJSON(w io.Writer, ps load.Problems) error {
	if ps == nil {
		ps = load.Problems{}
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

func reportGitHub(w io.Writer, ps load.Problems) error {
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
func describe(p load.Problem) string {
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

func reportSARIF(w io.Writer, ps load.Problems) error {
	results := make([]sarifResult, 0, len(ps))
	for _, p := range ps {
		at := sarifPhysical{Artifact: sarifArtifact{URI: filepath.ToSlash(p.File)}}
		if p.Line > 0 {
			at.Region = &sarifRegion{p.Line, p.Column}
		}
		results = append(results, sarifResult{sarifRuleID, string(p.Severity), sarifText{describe(p)}, []sarifLocation{{at}}})
	}
	return indented(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs: []sarifRun{{
			Tool:       sarifTool{sarifDriver{"adkmcp", buildVersion(), []sarifRule{{sarifRuleID}}}},
			ColumnKind: "unicodeCodePoints",
			Results:    results,
		}},
	})
}
