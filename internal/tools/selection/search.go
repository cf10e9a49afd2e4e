package selection

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/jsonschema"
)

// revealKey begins the keys of the session's state that say which tools have been
// found; each tool has one of its own, so that searches of the same step add to each
// other. They live as long as the turn.
const revealKey = "temp:" + config.ToolSearch + ":"

// revealed reports whether a deferred tool has been found in this turn.
func revealed(q *agent.Query, name string) bool {
	if q.State == nil {
		return false
	}
	found, _ := q.State(revealKey + name)
	return found == true
}

// Bounds on a search.
const (
	defaultLimit  = 5
	maxLineBytes  = 300 // of one tool in the result; the model reads the rest when it has the tool
	searchDetails = "Find tools that are not listed, by words of what they do. The tools that are found can be called from then on."
	searchSchema  = `{"type":"object","properties":{` +
		`"query":{"type":"string","description":"Words that the tool's name or description should hold"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":50,"default":5,"description":"How many tools to find at most"}},` +
		`"required":["query"],"additionalProperties":false}`
)

// search is the tool tool_search over a list of tools.
type search struct {
	spec   agent.Spec
	schema *jsonschema.Schema
	tools  []agent.Tool
}

func newSearch(tools []agent.Tool) *search {
	return &search{
		spec: agent.Spec{
			Name: config.ToolSearch, Description: searchDetails, Parameters: json.RawMessage(searchSchema),
			Hints: agent.Hints{ReadOnly: true, NonDestructive: true, Idempotent: true, ClosedWorld: true},
		},
		schema: jsonschema.New(json.RawMessage(searchSchema), jsonschema.Arguments(config.ToolSearch)),
		tools:  tools,
	}
}

// Spec implements [agent.Tool].
func (s *search) Spec() *agent.Spec { return &s.spec }

// Call implements [agent.Tool]. What it finds stands in the session's state.
func (s *search) Call(_ context.Context, call *agent.Call) (*agent.Result, error) {
	value, problem := s.schema.Read(call.Args)
	if problem != "" {
		return agent.NotRun(problem), nil
	}
	args, _ := value.(map[string]any) // which the schema asks for
	query, _ := args["query"].(string)
	limit := defaultLimit
	if n, given := args["limit"].(json.Number); given {
		f, _ := n.Float64() // 5.0 is an integer, too
		limit = int(f)
	}
	found := s.find(query, limit)
	if len(found) == 0 {
		return agent.Text(fmt.Sprintf("No tool fits. There are %d that can be searched; try other words for what the tool should do.", len(s.tools))), nil
	}
	res := &agent.Result{StateDelta: make(map[string]any, len(found))}
	var b strings.Builder
	b.WriteString("These tools can be called now:\n")
	for _, spec := range found {
		res.StateDelta[revealKey+spec.Name] = true
		b.WriteString(line(spec) + "\n")
	}
	res.Output = strings.TrimSuffix(b.String(), "\n")
	return res, nil
}

// find gives the tools that fit best, at most limit.
func (s *search) find(query string, limit int) []*agent.Spec {
	type hit struct {
		spec  *agent.Spec
		score int
	}
	var hits []hit
	for _, t := range s.tools {
		if n := score(query, t.Spec()); n > 0 {
			hits = append(hits, hit{t.Spec(), n})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	hits = hits[:min(limit, len(hits))]
	found := make([]*agent.Spec, len(hits))
	for i := range hits {
		found[i] = hits[i].spec
	}
	return found
}

// score says how well a tool fits: 10 for the whole query in its name and 5 in its
// description, and for each word 3 and 1. Case does not count, and in names _ and -
// may stand for spaces.
func score(query string, spec *agent.Spec) int {
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) == 0 {
		return 0
	}
	name, description := strings.ToLower(spec.Name), strings.ToLower(spec.Description)
	phrase := strings.Join(strings.Fields(strings.ToLower(query)), " ")
	n := 0
	if strings.Contains(name, phrase) || strings.Contains(strings.NewReplacer("_", " ", "-", " ").Replace(name), phrase) {
		n += 10
	}
	if strings.Contains(description, phrase) {
		n += 5
	}
	slices.Sort(words)
	for _, w := range slices.Compact(words) {
		if strings.Contains(name, w) {
			n += 3
		}
		if strings.Contains(description, w) {
			n++
		}
	}
	return n
}

// line is a tool in the result: its name and the beginning of its description, in
// one line.
func line(spec *agent.Spec) string {
	text := strings.TrimSuffix(spec.Name+": "+strings.Join(strings.Fields(spec.Description), " "), ": ")
	if len(text) <= maxLineBytes {
		return text
	}
	end := maxLineBytes
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
