package sampling

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// violation says which rule of sampling/createMessage params break (MCP
// 2026-07-28, schema and client/sampling); nil if none.
func violation(payload []byte) error {
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	var p map[string]any
	if err := d.Decode(&p); err != nil {
		return err
	}
	known := []string{"includeContext", "maxTokens", "messages", "metadata", "modelPreferences", "stopSequences", "systemPrompt", "temperature", "toolChoice", "tools"}
	for key, value := range p {
		if !slices.Contains(known, key) || value == nil {
			return fmt.Errorf("member %s: %v", key, value)
		}
	}
	if n, ok := p["maxTokens"].(json.Number); !ok || strings.ContainsAny(n.String(), ".eE-") || n == "0" {
		return fmt.Errorf("maxTokens: %v", p["maxTokens"])
	}
	if c, given := p["includeContext"]; given && c != "none" {
		return fmt.Errorf("includeContext: %v", c)
	}
	if err := eachTool(p["tools"]); err != nil {
		return err
	}
	if choice, given := p["toolChoice"]; given && p["tools"] == nil {
		return fmt.Errorf("toolChoice without tools: %v", choice)
	}
	return conversed(p["messages"])
}

func eachTool(v any) error {
	if v == nil {
		return nil
	}
	tools, ok := v.([]any)
	if !ok || len(tools) == 0 {
		return fmt.Errorf("tools: %v", v)
	}
	for _, t := range tools {
		tool, _ := t.(map[string]any)
		schema, _ := tool["inputSchema"].(map[string]any)
		if name, _ := tool["name"].(string); name == "" || schema["type"] != "object" {
			return fmt.Errorf("tool: %v", t)
		}
	}
	return nil
}

// conversed checks messages one by one, and that each tool_use has its
// tool_result in the very next message, which holds nothing else.
func conversed(v any) error {
	messages, ok := v.([]any)
	if !ok || len(messages) == 0 {
		return fmt.Errorf("messages: %v", v)
	}
	var open []string
	for i, m := range messages {
		message, _ := m.(map[string]any)
		role, _ := message["role"].(string)
		if role != "user" && role != "assistant" || len(message) != 2 {
			return fmt.Errorf("message %d: %v", i, m)
		}
		blocks, several := message["content"].([]any)
		if !several {
			blocks = []any{message["content"]}
		}
		if len(blocks) == 0 {
			return fmt.Errorf("message %d has no content", i)
		}
		var uses, results []string
		for _, b := range blocks {
			block, _ := b.(map[string]any)
			if err := wellFormed(role, block); err != nil {
				return fmt.Errorf("message %d: %w", i, err)
			}
			switch block["type"] {
			case "tool_use":
				uses = append(uses, block["id"].(string))
			case "tool_result":
				results = append(results, block["toolUseId"].(string))
			}
		}
		if len(results) > 0 && len(results) != len(blocks) {
			return fmt.Errorf("message %d has results beside something else", i)
		}
		if !slices.Equal(open, results) {
			return fmt.Errorf("message %d has the results of %v, want those of %v", i, results, open)
		}
		open = uses
	}
	if open != nil {
		return fmt.Errorf("no results of %v", open)
	}
	return nil
}

// members are those that each kind of block has; a ? stands behind what may be
// missing.
var members = map[string][]string{
	"text":        {"text"},
	"image":       {"data", "mimeType"},
	"audio":       {"data", "mimeType"},
	"tool_use":    {"id", "name", "input"},
	"tool_result": {"toolUseId", "content", "isError?"},
}

func wellFormed(role string, block map[string]any) error {
	kind, _ := block["type"].(string)
	if members[kind] == nil || kind == "tool_use" && role != "assistant" || kind == "tool_result" && role != "user" {
		return fmt.Errorf("a block of type %q of %s", kind, role)
	}
	left := maps.Clone(block)
	for _, key := range append(members[kind], "type", "_meta?") {
		name, optional := strings.CutSuffix(key, "?")
		if _, there := left[name]; !there && !optional {
			return fmt.Errorf("%s without %s", kind, name)
		}
		delete(left, name)
	}
	if len(left) > 0 {
		return fmt.Errorf("%s with %v", kind, left)
	}
	switch kind {
	case "text":
		if s, ok := block["text"].(string); !ok || s == "" {
			return errors.New("an empty text, which services refuse")
		}
	case "image", "audio":
		s, _ := block["data"].(string)
		data, err := base64.StdEncoding.DecodeString(s)
		if mime, _ := block["mimeType"].(string); err != nil || len(data) == 0 || !strings.HasPrefix(mime, kind+"/") {
			return fmt.Errorf("%s: %v", kind, block)
		}
	case "tool_use":
		if _, ok := block["input"].(map[string]any); !ok || block["id"] == "" || block["name"] == "" {
			return fmt.Errorf("tool_use: %v", block)
		}
	case "tool_result":
		content, ok := block["content"].([]any)
		if !ok {
			return fmt.Errorf("tool_result: %v", block)
		}
		for _, c := range content {
			inner, _ := c.(map[string]any)
			if inner["type"] == "tool_use" || inner["type"] == "tool_result" {
				return fmt.Errorf("a %s in a tool_result", inner["type"])
			}
			if err := wellFormed(role, inner); err != nil {
				return err
			}
		}
	}
	return nil
}
