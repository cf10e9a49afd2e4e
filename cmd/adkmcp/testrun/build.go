package testrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"strings"
	"sync"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/house"
	"github.com/adkmcp/adkmcp/cmd/adkmcp/trial"
	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/replay"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/load"
	"github.com/adkmcp/adkmcp/internal/config/strictyaml"
	"github.com/adkmcp/adkmcp/internal/config/testfile"
)

// builder builds the agents of test files, one after the other.
type builder struct {
	*Options
	log     *slog.Logger
	secrets []string            // of all agents so far
	redact  func(string) string // takes them out; nil for none
	current string              // the name of the case that runs
}

// byCase is a model that is another one in each case. Cases may ask the same and
// hear something else, so each has its own part of the recording.
func (b *builder) byCase(agent string, of func(name string) model.Model) model.Model {
	return &byCase{b, agent, of, map[string]model.Model{}, sync.Mutex{}}
}

type byCase struct {
	*builder
	agent string
	of    func(name string) model.Model
	made  map[string]model.Model
	mu    sync.Mutex
}

// Generate implements [model.Model].
func (m *byCase) Generate(ctx context.Context, req *model.Request) iter.Seq2[*model.Reply, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := m.agent + " in " + m.current
	if m.made[name] == nil {
		m.made[name] = m.of(name)
	}
	return m.made[name].Generate(ctx, req)
}

// hide takes out of a text what is a secret of the agents so far, as recordings do.
func (b *builder) hide(text string) string {
	if b.redact == nil {
		return text
	}
	return b.redact(text)
}

// build is a [trial.Build].
func (b *builder) build(ctx context.Context, f *testfile.File, around trial.Around) (*trial.Built, error) {
	cfg, err := b.load(f.Agent)
	if err != nil {
		return nil, err
	}
	models, judge := trial.Recorded(f, cfg)
	hide := redactor(f, cfg)
	t := &tape{}
	if models || judge {
		if t, err = b.tape(f, hide); err != nil {
			return nil, err
		}
	}
	o := house.Options{Agents: []*config.Agent{cfg}, Bounds: house.DefaultBounds(), Now: b.Now, NewID: b.NewID, Log: b.log, Version: b.Version, Around: around}
	switch {
	case models && t.player != nil:
		o.Answer = func(agent string) model.Model { return b.byCase(agent, t.player.Model) }
	case models:
		o.Listen = func(agent string, m model.Model) model.Model {
			return b.byCase(agent, func(name string) model.Model { return t.recorder.Around(name, m) })
		}
	}
	h, problems := house.Build(o)
	if len(problems) > 0 {
		return nil, errors.Join(b.report(problems), h.Close(), unusable(f.Agent))
	}
	built := &trial.Built{Hide: replay.Hiding(hide), Config: cfg, Runner: h.Residents[0].Runner, Save: t.save(), Close: h.Close}
	err = h.Residents[0].NotReady
	if err == nil && f.Judge.Agent != nil {
		err = b.addJudge(built, f, t, judge)
	}
	if err != nil {
		return nil, errors.Join(err, built.Close())
	}
	h.Start(ctx)
	return built, nil
}

func unusable(file string) error { return fmt.Errorf("the agent file %s cannot be used", file) }

// load reads an agent file.
func (b *builder) load(file string) (*config.Agent, error) {
	agents, problems, err := load.Agents([]string{file}, b.loading())
	if err != nil {
		return nil, err
	}
	if problems.HasErrors() || len(agents) != 1 {
		return nil, errors.Join(b.report(problems), unusable(file))
	}
	b.addSecrets(agents[0])
	return agents[0], nil
}

func (b *builder) loading() load.Options {
	return load.Options{LookupEnv: b.LookupEnv, Logger: b.log, Unasked: !b.Live}
}

// model is a [testfile.ReadModel].
func (b *builder) model(doc *strictyaml.Document, key string) (*config.Agent, strictyaml.Problems, error) {
	cfg, problems, err := load.Model(doc, key, b.loading())
	if err == nil {
		b.addSecrets(cfg)
	}
	return cfg, problems, err
}

func (b *builder) addSecrets(cfg *config.Agent) {
	b.secrets = append(b.secrets, house.Secrets([]*config.Agent{cfg})...)
	b.redact = replay.Hiding(config.NewRedactor(b.secrets).Text)
	b.Secrets(b.secrets)
}

// addJudge makes the judge, which is played or recorded as the agents are.
func (b *builder) addJudge(built *trial.Built, f *testfile.File, t *tape, recorded bool) error {
	if recorded && t.player != nil {
		built.Judge = b.byCase(trial.JudgeName, t.player.Model)
		return nil
	}
	m, err := house.NewModel(f.Judge.Agent, b.Now, b.log)
	var misfit *house.Misfit
	if errors.As(err, &misfit) {
		return fmt.Errorf("%s:%d:%d: judge%s: %s", f.Path, misfit.Pos.Line, misfit.Pos.Column, strings.TrimPrefix(misfit.Path, "model"), misfit.Says)
	}
	if err != nil {
		return fmt.Errorf("the judge: %w", err)
	}
	free := built.Close
	built.Close = func() error { return errors.Join(m.Close(), free()) }
	if built.Judge = m; recorded {
		built.Judge = b.byCase(trial.JudgeName, func(name string) model.Model { return t.recorder.Around(name, m) })
	}
	if m.NotReady != nil {
		return fmt.Errorf("the judge: %w", m.NotReady)
	}
	return nil
}

// tape is what models are recorded on or played from; one of the two is nil, or
// both where none has to be.
type tape struct {
	recorder *replay.Recorder
	player   *replay.Player
}

// redactor takes the secrets of a file's agent and judge out of a text.
func redactor(f *testfile.File, cfg *config.Agent) func(string) string {
	agents := []*config.Agent{cfg}
	if f.Judge.Agent != nil {
		agents = append(agents, f.Judge.Agent)
	}
	return config.NewRedactor(house.Secrets(agents)).Text
}

func (b *builder) tape(f *testfile.File, redact func(string) string) (*tape, error) {
	o := replay.Options{Redact: redact}
	if b.Live {
		if err := replay.CanRecord(f.Recording); err != nil {
			return nil, fmt.Errorf("the recording: %w", err)
		}
		o.Stopped = func(err error) { b.log.Warn("the models go on unrecorded", "error", err) }
		return &tape{recorder: replay.NewRecorder(f.Recording, o)}, nil
	}
	p, err := replay.Load(f.Recording, o)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no recording %s of what the models say: make it with adkmcp test --live %s", f.Recording, f.Path)
	}
	return &tape{player: p}, err
}

// save is what writes the recording; nil where nothing is recorded. One that has
// stopped would break the cases that it lacks, so it is not written.
func (t *tape) save() func() error {
	if t.recorder == nil {
		return nil
	}
	return func() error {
		if err := t.recorder.Err(); err != nil {
			return fmt.Errorf("%w; the recording stays as it was", err)
		}
		return t.recorder.Close()
	}
}
