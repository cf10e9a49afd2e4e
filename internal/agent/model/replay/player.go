package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"sync"

	"github.com/adkmcp/adkmcp/internal/agent/model"
)

// Player plays a recording. It is safe for concurrent use.
type Player struct {
	name      string // of the file, without its folder
	scrub     scrubber
	tree      *tree // not written to after loading
	exchanges []*exchange
	equal     map[key][]*exchange // in the order in which they play

	mu     sync.Mutex
	played map[key]int // how many
}

// Load reads a recording and checks all of it. Errors name the file and, where there
// is one, the exchange.
func Load(file string, o Options) (*Player, error) {
	if o.Redact == nil {
		return nil, errNoRedact
	}
	data, err := read(file)
	if err != nil {
		return nil, err
	}
	p := &Player{
		name: filepath.Base(file), scrub: scrubber{Hiding(o.Redact)}, tree: newTree(),
		equal: make(map[key][]*exchange), played: make(map[key]int),
	}
	if err := p.load(bytes.TrimPrefix(data, []byte("\ufeff"))); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

func (p *Player) load(data []byte) error {
	var about struct{ Version *int }
	switch err := json.Unmarshal(data, &about); {
	case err == nil && about.Version == nil:
		return errors.New("no recording: it has no version")
	case err == nil && *about.Version != version:
		return fmt.Errorf("the recording has version %d, this program reads version %d", *about.Version, version)
	}
	var f struct {
		Version   int               `json:"version"`
		Exchanges []json.RawMessage `json:"exchanges"`
	}
	if err := unmarshal(data, &f); err != nil {
		return err
	}
	for i, raw := range f.Exchanges {
		x, err := p.exchange(i+1, raw)
		if err != nil {
			return fmt.Errorf("exchange %d: %w", i+1, err)
		}
		p.exchanges = append(p.exchanges, x)
		p.equal[x.request] = append(p.equal[x.request], x)
	}
	return nil
}

// exchange reads one. Those before it are there.
func (p *Player) exchange(number int, raw json.RawMessage) (*exchange, error) {
	var w written
	if err := unmarshal(raw, &w); err != nil {
		return nil, err
	}
	if w.Number != number {
		return nil, fmt.Errorf("has the number %d; they are counted from 1, and after refers to them", w.Number)
	}
	if err := w.check(); err != nil {
		return nil, err
	}
	x := &exchange{outcome: w.outcome, number: number}
	var err error
	if x.request, err = p.request(&w); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	if x.then, err = p.tree.goOn(p.scrub, x.request.at, x.Reply); err != nil {
		return nil, fmt.Errorf("reply: content: %w", err)
	}
	return x, nil
}

// request gives the key of a recorded request, and makes it known.
func (p *Player) request(w *written) (key, error) {
	k := key{agent: p.scrub.redact(w.Agent), at: p.tree.root}
	var common head
	if n := w.Request.After; n != 0 {
		if n < 1 || n >= w.Number {
			return k, fmt.Errorf("after: %d is no earlier exchange", n)
		}
		earlier := p.exchanges[n-1]
		switch {
		case earlier.request.agent != k.agent:
			return k, fmt.Errorf("after: exchange %d is of another agent, %s", n, earlier.request.agent)
		case earlier.then == nil:
			return k, fmt.Errorf("after: exchange %d has no reply that a conversation goes on from", n)
		}
		k.at, common = earlier.then, *earlier.request.head
	}
	req, err := w.Request.model()
	if err != nil {
		return k, err
	}
	r, err := p.scrub.request(req, k.at.calls)
	if err != nil {
		return k, err
	}
	if w.Request.System == nil {
		r.head.system = common.system
	}
	if w.Request.Tools == nil {
		r.head.tools = common.tools
	}
	if w.Request.Hosted == nil {
		r.head.hosted = common.hosted
	}
	if w.Request.OutputSchema == nil {
		r.head.schema = common.schema
	}
	return p.tree.insert(k.agent, k.at, r), nil
}

// Model gives a model that plays what was recorded as the named agent's. The first
// exchange with an equal request that has not played yet plays; after all of them the
// last one again and again. A request that is not in the recording is an [model.Error]
// with the code Misconfigured that shows what differs.
func (p *Player) Model(agent string) model.Model { return &playing{p, p.scrub.redact(agent)} }

// playing is a model that plays an agent's part of a recording.
type playing struct {
	player *Player
	agent  string
}

// Generate implements [model.Model]. It does not wait.
func (m *playing) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	return func(yield func(*model.Reply, error) bool) {
		if ctx.Err() != nil {
			yield(nil, context.Cause(ctx))
			return
		}
		x, ids, err := m.player.find(m.agent, req)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, piece := range x.Pieces {
			if piece.Notice != nil {
				req.Notify(*piece.Notice)
			} else {
				c, err := readContent(piece.Partial)
				if err != nil { // loading would have said so
					yield(nil, err)
					return
				}
				if !yield(&model.Reply{Partial: true, Content: c}, nil) {
					return
				}
			}
			if ctx.Err() != nil {
				yield(nil, context.Cause(ctx))
				return
			}
		}
		switch {
		case x.Reply != nil:
			yield(x.Reply.model(ids))
		case x.Error.Code != "":
			yield(nil, x.Error.model())
		default:
			yield(nil, errors.New(x.Error.Text))
		}
	}
}

// find gives the exchange that plays for a request, and the ids of its calls.
func (p *Player) find(agent string, req *model.Request) (*exchange, *namer, error) {
	r, err := p.scrub.request(req, 0)
	if err != nil {
		return nil, nil, &model.Error{Code: model.Misconfigured, Message: "this request cannot be compared with the recording " + p.name, Err: err}
	}
	way := p.tree.way(r)
	if at := way[len(way)-1]; at.depth == len(r.contents) {
		k := key{agent, p.tree.heads[r.head], at, r.answer}
		if list := p.equal[k]; len(list) > 0 {
			p.mu.Lock()
			defer p.mu.Unlock()
			n := min(p.played[k], len(list)-1)
			p.played[k] = n + 1
			return list[n], r.ids, nil
		}
	}
	return nil, nil, &model.Error{Code: model.Misconfigured, Message: p.explain(agent, r, way)}
}
