package wire

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

// errNoMessage: what came is no JSON-RPC message.
var errNoMessage = errors.New("this is no JSON-RPC message")

// Parse reads a message of a server. Unlike [rpc.Parse], which guards a server
// against what two readers could understand differently, it takes any JSON as the
// data of a result or a schema: names that differ only in case, such as those of
// HTTP headers, must not lose us a whole answer. Text that is no UTF-8 is made
// valid.
func Parse(data []byte) (*rpc.Message, error) {
	data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	var envelope struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &envelope) != nil || envelope.JSONRPC != "2.0" {
		return nil, errNoMessage
	}
	m := &rpc.Message{
		Raw: data, ID: value(envelope.ID), Method: envelope.Method, Params: value(envelope.Params),
		Result: envelope.Result, Error: value(envelope.Error),
	}
	if m.Method == "" && (m.ID == nil || m.Result == nil && m.Error == nil) {
		return nil, errNoMessage
	}
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if m.Params != nil && json.Unmarshal(m.Params, &params) == nil {
		m.Meta = params.Meta
	}
	return m, nil
}

// value takes null for nothing.
func value(raw json.RawMessage) json.RawMessage {
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	return raw
}
