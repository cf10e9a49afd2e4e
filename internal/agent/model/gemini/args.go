package gemini

import (
	"bytes"
	"encoding/json"
	"slices"

	"google.golang.org/genai"
)

// rawArgs is the one key of what [keepArgs] wraps.
const rawArgs = "adkmcp:raw"

// keepArgs wraps the arguments of the function calls in an event into a string,
// and those of the service's own tools with their results. genai decodes them into
// floating point numbers, which changes those with many digits; it leaves strings
// alone. [restoreArgs] unwraps them.
func keepArgs(event []byte) []byte {
	known := func(w wrapping) bool { return bytes.Contains(event, []byte(`"`+w.part+`"`)) }
	if !slices.ContainsFunc(wrappings, known) {
		return event
	}
	type object = map[string]json.RawMessage
	wrapped, err := rewrite(event, "candidates", func(candidates []object) error {
		return each(candidates, "content", func(content object) error {
			return inside(content, "parts", func(parts []object) error {
				for _, w := range wrappings {
					if err := each(parts, w.part, w.wrap); err != nil {
						return err
					}
				}
				return nil
			})
		})
	})
	if err != nil {
		return event // of another shape; genai says what is wrong with it
	}
	return wrapped
}

// wrapping names what is wrapped in a part.
type wrapping struct{ part, field string }

var wrappings = []wrapping{{"functionCall", "args"}, {"toolCall", "args"}, {"toolResponse", "response"}}

func (w wrapping) wrap(fields map[string]json.RawMessage) error {
	if !bytes.HasPrefix(fields[w.field], []byte("{")) {
		return nil
	}
	text, err := json.Marshal(map[string]string{rawArgs: string(fields[w.field])})
	fields[w.field] = text
	return err
}

// rewrite changes the value of one key of a JSON object.
func rewrite[T any](object []byte, key string, change func(T) error) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return nil, err
	}
	if err := inside(fields, key, change); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// inside changes the value of one key, if it is there.
func inside[T any](fields map[string]json.RawMessage, key string, change func(T) error) error {
	raw, ok := fields[key]
	if !ok {
		return nil
	}
	var value T
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	if err := change(value); err != nil {
		return err
	}
	out, err := json.Marshal(value)
	fields[key] = out
	return err
}

// each changes the value of one key in every object of a list.
func each[T any](list []map[string]json.RawMessage, key string, change func(T) error) error {
	for _, fields := range list {
		if err := inside(fields, key, change); err != nil {
			return err
		}
	}
	return nil
}

// restoreArgs gives a part what [keepArgs] wrapped, numbers as the model wrote
// them.
func restoreArgs(p *genai.Part) {
	switch {
	case p.FunctionCall != nil:
		unwrap(&p.FunctionCall.Args)
	case p.ToolCall != nil:
		unwrap(&p.ToolCall.Args)
	case p.ToolResponse != nil:
		unwrap(&p.ToolResponse.Response)
	}
}

func unwrap(fields *map[string]any) {
	raw, ok := (*fields)[rawArgs].(string)
	if !ok || len(*fields) != 1 {
		return
	}
	d := json.NewDecoder(bytes.NewReader([]byte(raw)))
	d.UseNumber()
	var kept map[string]any
	if d.Decode(&kept) == nil { // it was an object, see keepArgs
		*fields = kept
	}
}
