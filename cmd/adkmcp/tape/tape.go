// Package tape lets commands record what the models of a house say, or play it in
// their place.
//
// Start with [Tape].
package tape

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/house"
	"github.com/adkmcp/adkmcp/internal/agent/model/replay"
)

// Tape says whether what the models say is recorded, or played from a recording.
type Tape struct {
	Record, Replay string // files; empty for none, and never both
}

// Flags adds the flags that set it.
func (t *Tape) Flags(f *pflag.FlagSet) {
	f.StringVar(&t.Record, "record", "", "write what the models are asked and say into this file")
	f.StringVar(&t.Replay, "replay", "", "play what --record wrote in place of the models; no key is needed")
}

// Args are the flags again, for a server that we start.
func (t *Tape) Args() []string {
	var all []string
	if t.Record != "" {
		all = append(all, "--record", t.Record)
	}
	if t.Replay != "" {
		all = append(all, "--replay", t.Replay)
	}
	return all
}

// Insert lets the models of a house be recorded or played. The log is told when
// recording stops before its end, or cannot be written. The function ends it and
// writes what was recorded. An error is the user's.
func (t *Tape) Insert(o *house.Options, redact func(string) string) (end func() error, err error) {
	end = func() error { return nil }
	switch {
	case t.Record != "" && t.Replay != "":
		return end, errors.New("--record and --replay exclude each other")
	case t.Record != "":
		if err := replay.CanRecord(t.Record); err != nil {
			return end, fmt.Errorf("--record: %w", err)
		}
		r := replay.NewRecorder(t.Record, replay.Options{Redact: redact, Stopped: func(err error) {
			o.Log.Warn("the models go on unrecorded", "error", err)
		}})
		o.Listen, end = r.Around, func() error {
			err := r.Close()
			if err != nil { // whoever interrupts the program reads no errors
				o.Log.Error("the recording is not whole", "error", err)
			}
			return err
		}
	case t.Replay != "":
		p, err := replay.Load(t.Replay, replay.Options{Redact: redact})
		if err != nil {
			return end, fmt.Errorf("--replay: %w", err)
		}
		o.Answer = p.Model
	}
	return end, nil
}
