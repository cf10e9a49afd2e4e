package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// Recorder records what passes between agents and their models. It is safe for
// concurrent use. All of it is kept in memory until [Recorder.Close].
//
// It stops before an exchange that would make the file larger than [Load] takes, or
// that cannot be written down: [Options].Stopped is told then and there.
type Recorder struct {
	file    string
	scrub   scrubber
	stopped func(error)
	most    int // bytes of the file

	mu        sync.Mutex
	tree      *tree
	exchanges []*exchange
	replied   map[key]bool // see room
	size      int          // the file's, or a little more
	begun     int
	err       error // why nothing more is recorded
	closed    bool
}

// NewRecorder makes a recorder whose Close writes file.
func NewRecorder(file string, o Options) *Recorder {
	r := &Recorder{file: file, scrub: scrubber{Hiding(o.Redact)}, stopped: o.Stopped, most: maxSize, tree: newTree(), replied: make(map[key]bool)}
	if o.Redact == nil {
		r.err = errNoRedact
	}
	return r
}

// Around gives a model that passes everything on to m, unchanged, and records it as
// the named agent's. An exchange whose consumer broke off, or whose context ended
// before the last reply, is not recorded. It belongs around what tries again
// ([model.Retrying]), so that a recording has no failures that passed. What a calling
// host's model was asked is no exchange of its own: a step that it answered is recorded
// as that of any other model, so that a replay asks no host.
func (r *Recorder) Around(agent string, m model.Model) model.Model {
	return &recorded{r, agent, m}
}

// Err says why recording has stopped; nil while it goes on.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close writes the file, in the place of one that is there, whose mode it takes over;
// a new one has the mode 0600, since nobody has read yet what was said. Where nothing
// was recorded it writes nothing. An error says that the file could not be written,
// and an earlier one stays as it is; or why recording stopped, and the file has what
// was recorded before. Further calls give the same error, and models that still run
// go on unrecorded.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.err
	}
	r.closed = true
	if n := len(r.exchanges); n > 0 {
		data, err := r.data()
		switch {
		case err != nil:
		case r.onlyFailures() && isRecording(r.file):
			err = errors.New("stays as it was, since no model gave a reply; remove it to record that")
		default:
			err = write(r.file, data)
		}
		switch {
		case err != nil:
			r.err = errors.Join(r.err, fmt.Errorf("recording %s: %w", r.file, err))
		case r.err != nil:
			r.err = fmt.Errorf("%w; the %d before it are recorded", r.err, n)
		}
	}
	r.tree, r.exchanges, r.replied = nil, nil, nil
	return r.err
}

// onlyFailures reports whether nothing came but errors. r.mu is held.
func (r *Recorder) onlyFailures() bool {
	return !slices.ContainsFunc(r.exchanges, func(x *exchange) bool { return x.Reply != nil })
}

// add takes an exchange into the recording; err is why it cannot be a part of it, and
// ends the recording.
func (r *Recorder) add(t *taking, o outcome, err error) {
	if err = r.tryAdd(t, o, err); err != nil && r.stopped != nil {
		r.stopped(err)
	}
}

// tryAdd gives an error if recording stops here.
func (r *Recorder) tryAdd(t *taking, o outcome, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.err != nil {
		return nil
	}
	if err == nil {
		err = r.keep(t, o)
	}
	if err != nil {
		r.err = fmt.Errorf("recording %s stopped at exchange %d, a reply to agent %s: %w", r.file, len(r.exchanges)+1, t.agent, err)
	}
	return r.err
}

// keep adds an exchange, if there is room for it. r.mu is held.
func (r *Recorder) keep(t *taking, o outcome) error {
	x := &exchange{request: r.tree.insert(t.agent, r.tree.root, t.request), asked: t.request.asked, begun: t.begun, outcome: o}
	var err error
	if x.then, err = r.tree.goOn(r.scrub, x.request.at, o.Reply); err != nil {
		return err
	}
	if o.Reply != nil {
		if x.asks, err = r.scrub.question(o.Reply.Suspend, &namer{}); err != nil {
			return err
		}
	}
	return r.room(x)
}

// room adds an exchange, or says that the file would become too large. What each
// adds to the file is known without the others but for what it leaves out, which is
// what those before it said: so the sum is kept, and the file is made to be sure when
// the sum comes to the bound.
func (r *Recorder) room(x *exchange) error {
	size, err := sizeOf(x, r.replied)
	if err != nil {
		return err
	}
	r.exchanges = append(r.exchanges, x)
	if r.size += size; r.size > r.most {
		data, err := r.data()
		if err != nil {
			r.exchanges = r.exchanges[:len(r.exchanges)-1]
			return err
		}
		r.size = len(data)
	}
	if x.then != nil {
		r.replied[key{agent: x.request.agent, at: x.then}] = true
		r.replied[key{agent: x.request.agent, at: x.then, head: x.request.head}] = true
	}
	return nil
}

// data is the file.
func (r *Recorder) data() ([]byte, error) {
	data, err := encode(arrange(r.exchanges))
	if err == nil && len(data) > r.most {
		err = errTooLarge
	}
	return data, err
}

// recorded is a model that is recorded.
type recorded struct {
	recorder *Recorder
	agent    string
	inner    model.Model
}

// Generate implements [model.Model].
func (m *recorded) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	return func(yield func(*model.Reply, error) bool) {
		t := m.recorder.take(m.agent, unborrowed(req))
		heard := *req
		heard.Notice = func(text string) {
			t.notice(text)
			req.Notify(text)
		}
		for reply, err := range m.inner.Generate(ctx, &heard) {
			t.over = t.over || ctx.Err() != nil
			t.hear(reply, err) // before it is passed on: the runner writes ids into it
			if !yield(reply, err) {
				return
			}
		}
	}
}

// unborrowed is a request without the answer of the calling host's model.
func unborrowed(req *model.Request) *model.Request {
	if req.Asked == nil || req.Asked.Kind != model.Sampling {
		return req
	}
	own := *req
	own.Asked, own.Answer = nil, nil
	return &own
}

// taking is an exchange while it is recorded.
type taking struct {
	recorder *Recorder
	agent    string
	request  *request
	begun    int
	pieces   []piece
	partials []*genai.Content // of each piece, secrets included; nil for a notice
	over     bool
}

// take begins to record an exchange.
func (r *Recorder) take(agent string, req *model.Request) *taking {
	r.mu.Lock()
	r.begun++
	t := &taking{recorder: r, agent: agent, begun: r.begun, over: r.closed || r.err != nil}
	r.mu.Unlock()
	if t.over {
		return t
	}
	t.agent = r.scrub.redact(agent)
	var err error
	if t.request, err = r.scrub.request(req, 0); err != nil {
		t.end(outcome{}, err)
	}
	return t
}

func (t *taking) notice(text string) {
	if !t.over {
		text = t.recorder.scrub.redact(text)
		t.pieces, t.partials = append(t.pieces, piece{Notice: &text}), append(t.partials, nil)
	}
}

// hear takes what the model yielded.
func (t *taking) hear(r *model.Reply, err error) {
	switch {
	case t.over:
	case err != nil:
		t.end(outcome{Error: newFailure(err, t.recorder.scrub.redact)}, nil)
	case r == nil, // against the rules of models; there is nothing to keep
		r.Suspend != nil && r.Suspend.Kind == model.Sampling: // the step comes again, answered
		t.over = true
	case r.Partial:
		c, err := clone(r.Content)
		if err != nil {
			t.end(outcome{}, err)
		}
		t.pieces, t.partials = append(t.pieces, piece{}), append(t.partials, c)
	default:
		own, err := t.recorder.scrub.reply(r, t.request.ids)
		t.end(outcome{Reply: own}, err)
	}
}

// end adds the exchange to the recording, or says why not.
func (t *taking) end(o outcome, err error) {
	t.over = true
	if err == nil {
		o.Pieces, err = t.stream()
	}
	t.recorder.add(t, o, err)
}

// stream gives the recorded form of the pieces.
func (t *taking) stream() ([]piece, error) {
	var parts []*genai.Part
	for _, c := range t.partials {
		parts = append(parts, partsOf(c)...)
	}
	t.recorder.scrub.mend(parts)
	for i, c := range t.partials {
		if t.pieces[i].Notice != nil {
			continue
		}
		var err error
		if t.pieces[i].Partial, err = t.recorder.scrub.said(c); err != nil {
			return nil, err
		}
	}
	return t.pieces, nil
}
