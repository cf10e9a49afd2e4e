package dialect

import (
	"bytes"
	"encoding/json"
)

// Output gives the schema of a model's answer as the service takes it: that of
// [Translate], and with it the order of the properties, in which the model
// writes them. What it writes first is what it thinks of first.
func Output(raw []byte) (json.RawMessage, error) {
	translated, err := Translate(raw)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(translated))
	d.UseNumber()
	var out any
	if err := d.Decode(&out); err != nil {
		return nil, err
	}
	order(out, raw)
	return json.Marshal(out)
}

// order gives a translated schema the order of the one that it was made of. What
// was put together from several places stays without.
func order(translated any, raw json.RawMessage) {
	out, ok := translated.(schema)
	if !ok {
		return
	}
	for _, keyword := range members(raw) {
		switch keyword.key {
		case "properties":
			properties, _ := out["properties"].(schema)
			var names []string
			for _, p := range members(keyword.value) {
				if translated, ok := properties[p.key]; ok {
					names = append(names, p.key)
					order(translated, p.value)
				}
			}
			if len(names) == len(properties) {
				out["propertyOrdering"] = names
			}
		case "items", "additionalProperties":
			order(out[keyword.key], keyword.value)
		case "anyOf", "oneOf", "prefixItems":
			name := keyword.key
			if name == "oneOf" {
				name = "anyOf"
			}
			list, _ := out[name].([]any)
			var raws []json.RawMessage
			switch {
			case json.Unmarshal(keyword.value, &raws) != nil:
			case len(raws) == len(list):
				for i := range list {
					order(list[i], raws[i])
				}
			case list == nil: // one of them is all that is left
				for _, raw := range raws {
					order(out, raw)
				}
			}
		}
	}
}

type member struct {
	key   string
	value json.RawMessage
}

// members gives the members of a JSON object in its order; none for what is no
// object.
func members(raw json.RawMessage) []member {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var all []member
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		m := member{key: name}
		if err != nil || !ok || d.Decode(&m.value) != nil {
			return nil
		}
		all = append(all, m)
	}
	return all
}
