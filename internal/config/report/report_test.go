package report

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
)

func printed(t *testing.T, format string, ps ...strictyaml.Problem) string {
	t.Helper()
	var b strings.Builder
	if err := Formats[format](&b, ps, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Case 16 of the agent files: what GitHub takes for the end of a message, of a
// property or of the properties is escaped, and nothing else is.
func TestCase16GitHub(t *testing.T) {
	got := printed(t, "github",
		strictyaml.Problem{Severity: "warning", File: "a,b:c%d\r\ne.yaml", Line: 3, Column: 7, Path: `state["x,y"]`, Message: "50% off,\r\n::error::forged", Hint: "a, b: c"},
		strictyaml.Problem{Severity: "error", File: "folder", Message: "holds no agent"})
	const want = `::warning file=a%2Cb%3Ac%25d%0D%0Ae.yaml,line=3,col=7::state["x,y"]: 50%25 off,%0D%0A::error::forged (a, b: c)` + "\n::error file=folder::holds no agent\n"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A finding is a line, whatever stands in it: else a file forges findings.
func TestTextIsALineEach(t *testing.T) {
	got := printed(t, "text", strictyaml.Problem{Severity: "error", File: "a.yaml", Line: 1, Column: 1, Path: "x", Message: "no program a\nb.yaml:1:1: error: forged \x1b[31m"})
	if strings.Count(got, "\n") != 1 || strings.Contains(got, "\x1b") {
		t.Errorf("got %q", got)
	}
}

// SARIF 2.1.0, section 3.4.3: uri is a URI reference (RFC 3986).
func TestSARIFPlaces(t *testing.T) {
	for _, file := range []string{"agents/a.yaml", "a b%20c,d.yaml", "a:b.yaml", "/tmp/#1?.yaml"} {
		var log struct {
			Runs []struct {
				Results []struct {
					Locations []struct {
						PhysicalLocation struct {
							ArtifactLocation struct{ URI string }
							Region           struct{ StartLine, StartColumn int }
						}
					}
				}
			}
		}
		out := printed(t, "sarif", strictyaml.Problem{Severity: "error", File: file, Line: 3, Column: 7, Message: "m"})
		if err := json.Unmarshal([]byte(out), &log); err != nil {
			t.Fatal(err)
		}
		at := log.Runs[0].Results[0].Locations[0].PhysicalLocation
		u, err := url.Parse(at.ArtifactLocation.URI)
		if err != nil || strings.TrimPrefix(u.Path, "./") != file || u.Scheme+u.RawQuery+u.Fragment != "" {
			t.Errorf("%q is %q: %v", file, at.ArtifactLocation.URI, err)
		}
		if at.Region.StartLine != 3 || at.Region.StartColumn != 7 {
			t.Errorf("region %+v", at.Region)
		}
	}
}
