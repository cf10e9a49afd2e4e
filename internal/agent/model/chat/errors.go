package chat

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model"
	"github.com/adkmcp/adkmcp/internal/agent/model/chat/chunk"
	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

const maxMessage = 500 // characters of a server's message

// Where Ollama and LM Studio listen unless they are told otherwise.
const (
	ollamaPort   = "11434"
	lmStudioPort = "1234"
)

// streamError is a failure in place of a piece of the answer.
type streamError struct{ chunk.Failure }

// Error implements error.
func (e *streamError) Error() string { return "an error within the answer" }

// inStream gives the error that an event is, nil for none.
func inStream(data []byte) error {
	f := chunk.ReadFailure(data)
	if f.Message == "" && f.Code == "" && f.Status == 0 {
		return nil
	}
	return &streamError{f}
}

// explain says what an error means.
func (m *Model) explain(err error) error {
	var (
		within  *streamError
		refused *wire.Refusal
		dial    *net.OpError
	)
	status := 0
	switch {
	case errors.As(err, &within):
		return m.client.Refusal(m.advise(within.Reading(0)))
	case errors.As(err, &refused):
		status = refused.Status
	case m.settings.local && errors.As(err, &dial) && dial.Op == "dial":
		return m.notRunning(dial)
	}
	return m.client.Explain(err, func(body []byte) wire.Reading {
		f := chunk.ReadFailure(body)
		return m.advise(f.Reading(status))
	})
}

// notRunning is the error of a server on this computer that does not listen.
func (m *Model) notRunning(dial *net.OpError) error {
	hint := ""
	switch m.settings.port {
	case ollamaPort:
		hint = " (ollama serve)"
	case lmStudioPort:
		hint = " (lms server start)"
	}
	return &model.Error{
		Code:    model.Unavailable,
		Message: fmt.Sprintf("the model's server cannot be reached at %s: is it running?%s", m.settings.url, hint),
		Err:     dial.Err,
	}
}

// advise says how to get a model that Ollama has not.
func (m *Model) advise(r wire.Reading) wire.Reading {
	if m.settings.port == ollamaPort && r.Status == http.StatusNotFound && strings.Contains(r.Message, m.name) {
		r.Message += "; get it with `ollama pull " + m.name + "`"
	}
	return r
}
