package wire

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

var (
	// errNoMessage: what came is no JSON-RPC message.
	errNoMessage = errors.New("this is no JSON-RPC message")
	// errUnreadable: what came should have been one. Somebody may wait for it.
	errUnreadable = errors.New("the server sent a JSON-RPC message that cannot be read")
)

const (
	// maxBatch is how many messages may come at once.
	maxBatch = 1000
	// markedBytes is how much of the beginning and of the end of a text that is no
	// JSON is searched for the mark of JSON-RPC.
	markedBytes = 4 << 10
)

// messages reads what a server sent at once: one message, or the batch of them that
// MCP 2025-03-26 has. The error is errUnreadable or errNoMessage; what could be read
// beside it is there.
func messages(data []byte) ([]*rpc.Message, error) {
	batch := []json.RawMessage{bytes.TrimSpace(data)}
	if bytes.HasPrefix(batch[0], []byte("[")) {
		var ok bool
		if batch, ok = items(batch[0]); !ok {
			return nil, unread(data)
		}
	}
	var list []*rpc.Message
	var bad error
	for _, one := range batch {
		m, err := Parse(one)
		if err != nil {
			if !errors.Is(bad, errUnreadable) {
				bad = unread(one)
			}
			continue
		}
		list = append(list, m)
	}
	if len(batch) == 0 {
		bad = errNoMessage
	}
	return list, bad
}

// items takes a batch apart, unless it is no JSON or has too many.
func items(data []byte) (list []json.RawMessage, ok bool) {
	if !json.Valid(data) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	_, err := d.Token() // the bracket
	for err == nil && d.More() && len(list) <= maxBatch {
		var one json.RawMessage
		err = d.Decode(&one)
		list = append(list, one)
	}
	return list, err == nil && len(list) <= maxBatch
}

// unread is the error for what is no message: a log record or a banner may well look
// like JSON, or hold messages.
func unread(data []byte) error {
	data = bytes.TrimSpace(data)
	if !bytes.HasPrefix(bytes.TrimLeft(data, "[ \t"), []byte("{")) {
		return errNoMessage
	}
	var object map[string]json.RawMessage
	intact := json.Unmarshal(data, &object) == nil
	_, marked := object["jsonrpc"]
	if mark := []byte(`"jsonrpc"`); !intact {
		marked = bytes.Contains(data[:min(len(data), markedBytes)], mark) || bytes.Contains(data[max(len(data)-markedBytes, 0):], mark)
	}
	if marked {
		return errUnreadable
	}
	return errNoMessage
}

// Parse reads a message of a server. Unlike [rpc.Parse], which guards a server
// against what two readers could understand differently, it takes any JSON as the
// data of a result or a schema: names that differ only in case, such as those of
// HTTP headers, must not lose us a whole answer. Text that is no UTF-8 is made
// valid. A response may lack its id: whoever could not read a request does not know
// whose the error is.
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
	if m.Method == "" && m.Result == nil && m.Error == nil {
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
