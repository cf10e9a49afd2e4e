package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/genai"
)

// Encode gives the stored form of an event: one line of JSON.
func Encode(e *Event) ([]byte, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	return b, nil
}

// Decode reads what [Encode] gave. Numbers inside arguments, results and state
// keep every digit; they come back as json.Number.
func Decode(data []byte) (*Event, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var e Event
	if err := d.Decode(&e); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	if e.V != Version {
		return nil, fmt.Errorf("event %d has version %d, this program reads version %d", e.Seq, e.V, Version)
	}
	if e.Seq == 0 || e.Kind == "" {
		return nil, errors.New("event: no sequence number or no kind")
	}
	return &e, nil
}

// Size estimates the bytes that an event holds in memory, without encoding
// it: the lengths of its texts and data and a fixed amount for the rest.
func (e *Event) Size() int {
	n := 256 + len(e.Text) + len(e.Opaque) + len(e.Structured) + sizeOf(e.StateDelta) + sizeOfContent(e.Content)
	if e.Call != nil {
		n += len(e.Call.Args) + len(e.Call.Name) + len(e.Call.ID)
	}
	if r := e.Response; r != nil {
		n += sizeOf(r.Response)
		for _, p := range r.Parts {
			if p.InlineData != nil {
				n += len(p.InlineData.Data)
			}
		}
	}
	if e.Suspension != nil {
		n += len(e.Suspension.Message) + len(e.Suspension.Payload) + len(e.Suspension.Opaque)
	}
	if e.Answer != nil {
		n += len(e.Answer.Reason) + len(e.Answer.Payload)
	}
	if e.Problem != nil {
		n += len(e.Problem.Message)
	}
	for _, a := range e.Artifacts {
		n += 64 + len(a.ID) + len(a.Name) + len(a.MIMEType)
	}
	return n
}

func sizeOfContent(c *genai.Content) int {
	if c == nil {
		return 0
	}
	n := 0
	for _, p := range c.Parts {
		n += 64 + len(p.Text) + len(p.ThoughtSignature)
		if p.InlineData != nil {
			n += len(p.InlineData.Data)
		}
		if p.FunctionCall != nil {
			n += sizeOf(p.FunctionCall.Args)
		}
	}
	return n
}

// sizeOf adds up what a decoded JSON value holds.
func sizeOf(v any) int {
	const word = 16
	switch v := v.(type) {
	case string:
		return word + len(v)
	case json.Number:
		return word + len(v)
	case json.RawMessage:
		return word + len(v)
	case map[string]any:
		n := word
		for k, x := range v {
			n += len(k) + sizeOf(x)
		}
		return n
	case []any:
		n := word
		for _, x := range v {
			n += sizeOf(x)
		}
		return n
	}
	return word
}
