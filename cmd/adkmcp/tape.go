package main

import (
	"github.com/spf13/pflag"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/house"
	"github.com/adkmcp/adkmcp/internal/agent/model/replay"
)

// tape says whether what the models say is recorded, or played from a recording.
type tape struct{ record, replay string }

func (t *tape) flags(f *pflag.FlagSet) {
	f.StringVar(&t.record, "record", "", "write what the models are asked and say into this file")
	f.StringVar(&t.replay, "replay", "", "play what --record wrote in place of the models; no key is needed")
}

// args are the flags again, for a server that we start.
func (t *tape) args() []string {
	var all []string
	if t.record != "" {
		all = append(all, "--record", t.record)
	}
	if t.replay != "" {
		all = append(all, "--replay", t.replay)
	}
	return all
}

// insert lets the models of a house be recorded or played. The function ends the
// recording, and writes it.
func (t *tape) insert(o *house.Options, redact func(string) string) (end func() error, err error) {
	end = func() error { return nil }
	switch {
	case t.record != "" && t.replay != "":
		return end, usageError("--record and --replay exclude each other")
	case t.record != "":
		r := replay.NewRecorder(t.record, replay.Options{Redact: redact})
		o.Listen, end = r.Around, r.Close
	case t.replay != "":
		p, err := replay.Load(t.replay, replay.Options{Redact: redact})
		if err != nil {
			return end, usageError("--replay: %w", err)
		}
		o.Answer = p.Model
	}
	return end, nil
}
