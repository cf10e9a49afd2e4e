package chunk

import (
	"encoding/json"

	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// JoinDetails joins the pieces in which a stream gives each of the
// reasoning_details: those of the same index and type are one, and their text goes
// together (OpenRouter, "Reasoning Tokens").
func JoinDetails(pieces []json.RawMessage) []json.RawMessage {
	var all []map[string]any
	for _, raw := range pieces {
		piece, err := wire.ReadArguments(raw)
		if err != nil || len(piece) == 0 {
			continue
		}
		if n := len(all); n > 0 && isSameDetail(all[n-1], piece) {
			goOnWith(all[n-1], piece)
			continue
		}
		all = append(all, piece)
	}
	var out []json.RawMessage
	for _, detail := range all {
		if raw, err := wire.Encode(detail); err == nil { // it was JSON
			out = append(out, raw)
		}
	}
	return out
}

func isSameDetail(a, b map[string]any) bool {
	at, numbered := a["index"].(json.Number)
	next, _ := b["index"].(json.Number)
	kind, _ := a["type"].(string)
	return numbered && at == next && b["type"] == any(kind)
}

func goOnWith(detail, piece map[string]any) {
	for key, value := range piece {
		more, isText := value.(string)
		before, wasText := detail[key].(string)
		switch {
		case value == nil:
		case isText && wasText && (key == "text" || key == "summary" || key == "data"):
			detail[key] = before + more
		default:
			detail[key] = value
		}
	}
}
