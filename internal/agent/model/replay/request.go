package replay

import (
	"fmt"
	"strings"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// head is what requests of an agent mostly have in common, as it is compared.
type head struct {
	system string
	tools  string // JSON, a list of tool; empty for none
	hosted string // one a line
	schema string // JSON; empty for none
}

// content is one of a request, as it is compared.
type content struct {
	json  string
	calls int // the highest number that stands for a call's id up to here
}

// request is one as it is compared.
type request struct {
	head     head
	contents []content
	answer   string // JSON; empty for none
	asked    string // the question that answer is for, JSON; it is not compared
	ids      *namer
}

// request gives the form of req that is compared. calls is the highest number that
// stands for an id in contents before those of req.
func (s scrubber) request(req *model.Request, calls int) (*request, error) {
	r := &request{ids: &namer{last: calls}}
	r.head.system, r.head.hosted = s.redact(req.System), s.redact(strings.Join(req.Hosted, "\n"))
	var err error
	if r.head.tools, err = s.tools(req.Tools); err != nil {
		return nil, err
	}
	schema, err := s.canonical(req.OutputSchema)
	if err != nil {
		return nil, fmt.Errorf("output_schema: %w", err)
	}
	if string(schema) != "null" {
		r.head.schema = string(schema)
	}
	for i, c := range req.Contents {
		text, err := s.asked(c, r.ids)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		r.contents = append(r.contents, content{text, r.ids.last})
	}
	if r.answer, err = s.answer(req.Answer); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	if r.asked, err = s.question(req.Asked, r.ids); err != nil {
		return nil, fmt.Errorf("suspension: %w", err)
	}
	return r, nil
}

// tools gives the JSON of a list of tool, empty for none.
func (s scrubber) tools(declared []*genai.FunctionDeclaration) (string, error) {
	if len(declared) == 0 {
		return "", nil
	}
	list := make([]tool, len(declared))
	for i, d := range declared {
		list[i] = tool{Name: s.redact(d.Name), Description: s.redact(d.Description)}
		if d.ParametersJsonSchema == nil {
			continue
		}
		schema, err := marshal(d.ParametersJsonSchema)
		if err == nil {
			list[i].Parameters, err = s.canonical(schema)
		}
		if err != nil {
			return "", fmt.Errorf("tool %s: %w", list[i].Name, err)
		}
	}
	raw, err := marshal(list)
	return string(raw), err
}

// answer gives the JSON of an answer, empty for none. Its ids are new in each run and
// left out.
func (s scrubber) answer(a *model.Answer) (string, error) {
	if a == nil {
		return "", nil
	}
	own := model.Answer{Kind: s.redact(a.Kind), Action: s.redact(a.Action), Reason: s.redact(a.Reason)}
	var err error
	if own.Payload, err = s.canonical(a.Payload); err != nil {
		return "", err
	}
	raw, err := marshal(own)
	return string(raw), err
}

// suspension is q as it is recorded: ids of calls that its JSON names are those of
// the recording.
func (s scrubber) suspension(q *model.Suspension, ids *namer) (*model.Suspension, error) {
	text := func(t string) string {
		if name, ok := ids.names[t]; ok {
			return name
		}
		return s.redact(t)
	}
	own := &model.Suspension{
		CallID: text(q.CallID), ID: s.redact(q.ID), Tool: s.redact(q.Tool), Kind: s.redact(q.Kind), Message: s.redact(q.Message),
	}
	var err error
	if own.Payload, err = Rewrite(q.Payload, text); err == nil {
		own.Opaque, err = Rewrite(q.Opaque, text)
	}
	return own, err
}

// question tells a suspension from others, but for the ids that the runner gives it;
// empty for none.
func (s scrubber) question(q *model.Suspension, ids *namer) (string, error) {
	if q == nil {
		return "", nil
	}
	own, err := s.suspension(q, ids)
	if err != nil {
		return "", err
	}
	own.CallID, own.ID, own.Tool = "", "", ""
	raw, err := marshal(own)
	return string(raw), err
}

// reply is the recorded form of a final reply.
func (s scrubber) reply(r *model.Reply, ids *namer) (*reply, error) {
	own := &reply{FinishReason: s.redact(r.FinishReason), Model: s.redact(r.Model), Usage: r.Usage}
	var err error
	if r.Content != nil {
		if own.Content, err = s.said(r.Content); err != nil {
			return nil, err
		}
	}
	if own.Opaque, err = Rewrite(r.Opaque, s.redact); err != nil {
		return nil, fmt.Errorf("opaque: %w", err)
	}
	if r.Problem != nil {
		p := r.Problem
		own.Problem = &failure{Code: p.Code, Message: s.redact(p.Error()), Reason: s.redact(p.Reason), Status: p.Status}
	}
	if r.Suspend != nil {
		if own.Suspend, err = s.suspension(r.Suspend, ids); err != nil {
			return nil, fmt.Errorf("suspension: %w", err)
		}
	}
	return own, nil
}

// model gives a recorded reply anew, ids of calls as they are now.
func (r *reply) model(ids *namer) (*model.Reply, error) {
	own := &model.Reply{FinishReason: r.FinishReason, Model: r.Model}
	if r.Usage != nil {
		usage := *r.Usage
		own.Usage = &usage
	}
	var err error
	if own.Opaque, err = Rewrite(r.Opaque, unchanged); err != nil { // as it was, before it was indented
		return nil, fmt.Errorf("opaque: %w", err)
	}
	if len(r.Content) > 0 {
		if own.Content, err = readContent(r.Content); err != nil {
			return nil, fmt.Errorf("content: %w", err)
		}
	}
	if r.Problem != nil {
		own.Problem = r.Problem.model()
	}
	if r.Suspend != nil {
		if own.Suspend, err = restore(r.Suspend, ids); err != nil {
			return nil, fmt.Errorf("suspend: %w", err)
		}
	}
	return own, nil
}

// restore gives a recorded suspension the ids of calls that the request has now.
func restore(q *model.Suspension, ids *namer) (*model.Suspension, error) {
	given := make(map[string]string, len(ids.names))
	for id, name := range ids.names {
		given[name] = id
	}
	text := func(t string) string {
		if id, ok := given[t]; ok {
			return id
		}
		return t
	}
	own := *q
	own.CallID = text(q.CallID)
	var err error
	if own.Payload, err = Rewrite(q.Payload, text); err == nil {
		own.Opaque, err = Rewrite(q.Opaque, text)
	}
	return &own, err
}
