// Package scripted is a model that plays a script from the agent file: no key,
// no network, the same every time. It serves demos, tests and agents that need
// no judgement.
//
// Start with [New]; player.go plays one step, files.go reads what goes along with
// it. The rules are those of the script section of an agent's
// model: the first rule whose pattern fits the caller's newest text plays, one
// step per model call of the turn, the last one again and again.
package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"strings"

	"github.com/adkmcp/adkmcp/internal/config/template"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/config"
)

// Model plays a script. It keeps nothing between calls.
type Model struct{ rules []rule }

type rule struct {
	match *regexp.Regexp // nil fits everything
	steps []step
}

type step struct {
	text  template.Text // what is said, or replied
	files []string      // that go along
	calls []call
}

type call struct {
	tool string
	args map[string]any // strings are template.Text
}

// New compiles a script that package config has checked.
func New(script []config.Rule) (*Model, error) {
	m := &Model{rules: make([]rule, len(script))}
	for i, r := range script {
		if r.Match != "" {
			re, err := regexp.Compile(r.Match)
			if err != nil {
				return nil, fmt.Errorf("script rule %d: %w", i+1, err)
			}
			m.rules[i].match = re
		}
		for _, s := range r.Steps {
			st, err := compile(s)
			if err != nil {
				return nil, fmt.Errorf("script rule %d: %w", i+1, err)
			}
			m.rules[i].steps = append(m.rules[i].steps, st)
		}
	}
	return m, nil
}

func compile(s config.Step) (step, error) {
	st := step{text: template.ParsePlaces(s.Say + s.Reply), files: s.Files}
	for _, c := range s.Call {
		args := map[string]any{}
		if len(c.Args) > 0 {
			d := json.NewDecoder(bytes.NewReader(c.Args))
			d.UseNumber()
			if err := d.Decode(&args); err != nil {
				return step{}, fmt.Errorf("arguments of %s: %w", c.Tool, err)
			}
		}
		st.calls = append(st.calls, call{tool: c.Tool, args: parsePlaces(args).(map[string]any)})
	}
	return st, nil
}

// parsePlaces replaces every string inside v by its template.
func parsePlaces(v any) any {
	switch v := v.(type) {
	case string:
		return template.ParsePlaces(v)
	case []any:
		for i := range v {
			v[i] = parsePlaces(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = parsePlaces(v[k])
		}
	}
	return v
}

// Generate implements [model.Model]. It yields one reply.
func (m *Model) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	return func(yield func(*model.Reply, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		reply, err := m.reply(req)
		yield(reply, err)
	}
}

func (m *Model) reply(req *model.Request) (*model.Reply, error) {
	text, n := newest(req)
	for _, r := range m.rules {
		p := player{req: req}
		if r.match != nil {
			sub := r.match.FindStringSubmatch(text)
			if sub == nil {
				continue
			}
			p.groups, p.values = r.match.SubexpNames(), sub
		}
		return p.play(r.steps[min(n, len(r.steps)-1)])
	}
	return nil, &model.Error{Code: model.Misconfigured, Message: fmt.Sprintf(
		"no rule of the model's script matches the request %q; add a rule without match for all else", clip(text))}
}

// newest gives the caller's newest text and how many model calls have been
// made since.
func newest(req *model.Request) (text string, calls int) {
	if req.Turn >= len(req.Contents) {
		return "", 0
	}
	for _, c := range req.Contents[req.Turn+1:] {
		if c.Role == genai.RoleModel {
			calls++
		}
	}
	return textOf(req.Contents[req.Turn]), calls
}

func textOf(c *genai.Content) string {
	if len(c.Parts) == 1 {
		return c.Parts[0].Text
	}
	var b strings.Builder
	for _, p := range c.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

func clip(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
