package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/config"
)

// newFiles gives the tools of one folder: files_list, files_read, files_search
// and, where the agent file allows it, files_write.
func newFiles(t *config.Tool, _ Deps) ([]agent.Tool, error) {
	if t.Builtin == nil || t.Builtin.Root == "" {
		return nil, errors.New("files needs args.root, the folder that it may use")
	}
	switch info, err := os.Stat(t.Builtin.Root); {
	case err != nil:
		return nil, fmt.Errorf("the folder of args.root cannot be used: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("args.root %s is not a folder", t.Builtin.Root)
	}
	f := &folder{path: t.Builtin.Root, budget: max(t.MaxResultBytes-roomForNotes, t.MaxResultBytes/2)}
	tools := []agent.Tool{
		newTool(specOf("files_list", listDescription, reads, pathProperty("folder; the whole folder if left out"), globProperty, depthProperty), f.list),
		newTool(specOf("files_read", readDescription, reads, "!"+pathProperty("file"), offsetProperty, limitProperty), f.read),
		newTool(specOf("files_search", searchDescription, reads, "!"+patternProperty, pathProperty("folder or file; everything if left out"), globProperty), f.search),
	}
	if t.Builtin.Write {
		// Appending twice is not the same as once, and overwriting destroys.
		tools = append(tools, newTool(specOf("files_write", writeDescription, agent.Hints{ClosedWorld: true},
			"!"+pathProperty("file"), "!"+contentProperty, modeProperty), f.write))
	}
	return tools, nil
}

const (
	listDescription = "List what a folder holds, one path a line, with the size of files in bytes; folders end with a slash. " +
		"With a glob, the folders in it are looked through too, all but .git."
	readDescription = "Read a text file, or look at an image (PNG, JPEG, GIF, WebP). Of another binary file the type and size are told. " +
		"A long file comes in parts: the last line then says at which offset to go on."
	searchDescription = "Search text files for a pattern, line by line. Gives path:line: text for every line that matches. " +
		"Binary files, .git and files over 8 MiB are left out."
	writeDescription = "Write a text file and the folders on the way to it. What is in the file is replaced, " +
		"or kept with mode append. The change is made as a whole or not at all."

	globProperty    = `"glob":{"type":"string","maxLength":200,"description":"Only paths that match, such as *.go or src/**/*.{ts,tsx}; without a slash the last name alone counts"}`
	depthProperty   = `"depth":{"type":"integer","minimum":1,"maximum":32,"description":"Levels of folders; 1 if left out, with a glob 32"}`
	offsetProperty  = `"offset":{"type":"integer","minimum":1,"description":"First line to read, counted from 1"}`
	limitProperty   = `"limit":{"type":"integer","minimum":1,"description":"Number of lines"}`
	patternProperty = `"pattern":{"type":"string","minLength":1,"maxLength":1000,"description":"RE2 regular expression; (?i) in front ignores case"}`
	contentProperty = `"content":{"type":"string","description":"The text"}`
	modeProperty    = `"mode":{"type":"string","enum":["overwrite","append"],"description":"overwrite if left out"}`
)

func pathProperty(what string) string {
	return `"path":{"type":"string","maxLength":4096,"description":"Path of the ` + what + `; with /, relative to the tool's folder"}`
}

// specOf makes a spec whose properties are given as they stand in a schema; an
// exclamation mark in front makes one required.
func specOf(name, description string, hints agent.Hints, properties ...string) *agent.Spec {
	var required []string
	for i, p := range properties {
		if after, ok := strings.CutPrefix(p, "!"); ok {
			key, _, _ := strings.Cut(after, ":")
			properties[i], required = after, append(required, key)
		}
	}
	schema := `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `],"additionalProperties":false}`
	return &agent.Spec{Name: name, Description: description, Parameters: json.RawMessage(schema), Hints: hints}
}
