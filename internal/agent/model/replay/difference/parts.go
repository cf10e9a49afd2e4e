package difference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// difference is a part of two requests that differs, as lines.
type difference struct {
	part  string
	lines []string
}

// list gives what differs between a recorded request and one now.
func list(recorded, now *Request) []difference {
	var all []difference
	add := func(part string, recorded, now []string) {
		if d := diff(recorded, now); d != nil {
			all = append(all, difference{part, d})
		}
	}
	add("instruction", lines(recorded.System), lines(now.System))
	was, wasOrder := toolTexts(recorded.Tools)
	is, isOrder := toolTexts(now.Tools)
	names := slices.Concat(wasOrder, isOrder)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		add("tool "+name, was[name], is[name])
	}
	if len(was) == len(is) {
		add("order of the tools", wasOrder, isOrder)
	}
	add("hosted tools", lines(recorded.Hosted), lines(now.Hosted))
	add("output_schema", indented(recorded.Schema), indented(now.Schema))
	for i := range max(len(recorded.Contents), len(now.Contents)) {
		var was, is string
		if i < len(recorded.Contents) {
			was = recorded.Contents[i]
		}
		if i < len(now.Contents) {
			is = now.Contents[i]
		}
		if was != is { // those after it differ for its sake
			add(fmt.Sprintf("message %d", i+1), message(was), message(is))
			break
		}
	}
	add("answer to the suspension", indented(recorded.Answer), indented(now.Answer))
	return all
}

// toolTexts gives what each tool says, as lines, and the names in order.
func toolTexts(text string) (texts map[string][]string, order []string) {
	var all []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	_ = json.Unmarshal([]byte(text), &all) // nothing for none
	texts = make(map[string][]string, len(all))
	for _, t := range all {
		texts[t.Name] = slices.Concat([]string{"declared"}, lines(t.Description), indented(string(t.Parameters)))
		order = append(order, t.Name)
	}
	return texts, order
}

// message gives a content as lines: the text of parts that are nothing else, JSON of
// others.
func message(text string) []string {
	if text == "" {
		return nil
	}
	var c struct {
		Role  string            `json:"role"`
		Parts []json.RawMessage `json:"parts"`
	}
	_ = json.Unmarshal([]byte(text), &c) // of null too
	all := []string{"role: " + c.Role}
	for _, raw := range c.Parts {
		if text, only := onlyText(raw); only {
			all = append(all, strings.Split(text, "\n")...)
		} else {
			all = append(all, indented(string(raw))...)
		}
	}
	return all
}

// onlyText gives the text of a part that has nothing else.
func onlyText(part json.RawMessage) (text string, only bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(part, &members) != nil || len(members) != 1 || json.Unmarshal(members["text"], &text) != nil {
		return "", false
	}
	return text, true
}

// lines gives the lines of a text, none of an empty one.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// indented gives JSON as lines.
func indented(text string) []string {
	if text == "" {
		return nil
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", " ") != nil {
		return []string{text}
	}
	return strings.Split(b.String(), "\n")
}
