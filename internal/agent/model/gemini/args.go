package gemini

import (
	"bytes"
	"encoding/json"

	"google.golang.org/genai"
)

// rawArgs is the one key of the arguments that [keepArgs] wraps.
const rawArgs = "adkmcp:raw"

// keepArgs wraps the arguments of the function calls in an event into a
// string. genai decodes arguments into floating point numbers, which changes
// those with many digits; it leaves strings alone. [restoreArgs] unwraps them.
func keepArgs(event []byte) []byte {
	if !bytes.Contains(event, []byte(`"functionCall"`)) {
		return event
	}
	type object = map[string]json.RawMessage
	wrapped, err := rewrite(event, "candidates", func(candidates []object) error {
		return each(candidates, "content", func(content object) error {
			return inside(content, "parts", func(parts []object) error {
				return each(parts, "functionCall", func(call object) error {
					if !bytes.HasPrefix(call["args"], []byte("{")) {
						return nil
					}
					text, err := json.Marshal(map[string]string{rawArgs: string(call["args"])})
					call["args"] = text
					return err
				})
			})
		})
	})
	if err != nil {
		return event // of another shape; genai says what is wrong with it
	}
	return wrapped
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

// restoreArgs gives a call the arguments that [keepArgs] wrapped, numbers as
// the model wrote them.
func restoreArgs(call *genai.FunctionCall) {
	raw, ok := call.Args[rawArgs].(string)
	if !ok || len(call.Args) != 1 {
		return
	}
	d := json.NewDecoder(bytes.NewReader([]byte(raw)))
	d.UseNumber()
	var args map[string]any
	if d.Decode(&args) == nil { // it was an object, see keepArgs
		call.Args = args
	}
}
