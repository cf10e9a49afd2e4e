package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// rogue is an MCP server of 2025-11-25 over stdio, with tools that do harm and
// manners as its first argument says:
//
//	plain   none that are bad
//	banner  it writes to standard output what is no message
//	pages   it lists 300 tools on 30 pages
//	circle  the cursor of its third page is that of the first
//	fails   it does not start
//
// What it has to remember when it is started again it puts into the working
// directory.
func rogue() {
	r := &rogueServer{mode: os.Args[1]}
	switch r.mode {
	case "fails":
		fmt.Fprintln(os.Stderr, "cannot start: no licence")
		os.Exit(2)
	case "banner":
		fmt.Println("Welcome to the server!\n> {\"listening\": \"on stdio\"}")
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Cursor, Name string
				Arguments    struct{ Path string }
				Meta         json.RawMessage `json:"_meta"`
			}
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
		switch m.Method {
		case "initialize":
			answer["result"] = map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": struct{}{}}, "serverInfo": map[string]any{"name": "rogue", "version": "1"}}
		case "tools/list":
			answer["result"] = r.page(m.Params.Cursor)
		case "tools/call":
			text, ok := r.call(m.Params.Name, m.Params.Arguments.Path, m.Params.Meta)
			if !ok {
				continue
			}
			answer["result"] = map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}}
		default:
			answer["error"] = map[string]any{"code": -32601, "message": "no such method"}
		}
		if r.mode == "banner" {
			fmt.Println("[info] served " + m.Method)
		}
		fmt.Println(mustJSON(answer))
	}
}

type rogueServer struct{ mode string }

// page is a page of the tools.
func (r *rogueServer) page(cursor string) map[string]any {
	schema := map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}}
	tool := func(name string, readOnly bool) any {
		return map[string]any{"name": name, "description": "Does " + name + ".", "inputSchema": schema, "annotations": map[string]any{"readOnlyHint": readOnly}}
	}
	switch {
	case r.mode == "pages":
		from, _ := strconv.Atoi(cursor)
		var tools []any
		for i := from; i < from+10; i++ {
			tools = append(tools, tool(fmt.Sprintf("tool_%03d", i), true))
		}
		page := map[string]any{"tools": tools}
		if from+10 < 300 {
			page["nextCursor"] = strconv.Itoa(from + 10)
		}
		return page
	case r.mode == "circle" && cursor != "":
		next := map[string]string{"second": "third", "third": "second"}[cursor]
		return map[string]any{"tools": []any{tool(cursor, true)}, "nextCursor": next}
	}
	page := map[string]any{"tools": []any{tool("pid", true), tool("meta", true), tool("look", true), tool("change", false), tool("hang", false), tool("touch", false)}}
	if r.mode == "circle" {
		page["nextCursor"] = "second"
	}
	return page
}

// call runs a tool; without ok it gives no answer.
func (r *rogueServer) call(name, path string, meta json.RawMessage) (text string, ok bool) {
	switch name {
	case "pid":
		return strconv.Itoa(os.Getpid()), true
	case "meta":
		return string(meta), true
	case "look", "change": // dies the first time
		if _, err := os.Stat(name + ".died"); err == nil {
			return name + " after all", true
		}
		if err := os.WriteFile(name+".died", nil, 0o600); err != nil {
			return err.Error(), true
		}
		fmt.Fprintln(os.Stderr, "my last words")
		os.Exit(3)
	case "hang":
		return "", false
	case "touch":
		if err := os.WriteFile(filepath.Base(path), nil, 0o600); err != nil {
			return err.Error(), true
		}
	}
	return name + " done", true
}

// rogueEntry is an entry of an agent file that uses the rogue, with what else the
// server's mapping says.
func rogueEntry(mode string, more ...string) string {
	return "mcp: {command: adkmcp-rogue, args: [" + mode + "], env: {GORACE: " + noRaceSleep + "}" + strings.Join(append([]string{""}, more...), ", ") + "}"
}
