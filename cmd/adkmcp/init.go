package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/load"
)

//go:embed starter.yaml
var starter string

// schemaFile is what the starter's schema line names.
const schemaFile = "agent.schema.json"

func (a *app) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [NAME]",
		Short: "Write a commented starter agent",
		Long: `Write NAME.yaml, an agent with comments to start from, and beside it the JSON
Schema that gives editors completion and checks. Nothing is overwritten. NAME may
have a folder in front; without NAME it is my_agent.`,
		Example: "  adkmcp init weather",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := "my_agent"
			if len(args) == 1 {
				path = strings.TrimSuffix(args[0], ".yaml")
			}
			return a.init(path)
		},
	}
}

func (a *app) init(path string) error {
	name, file := filepath.Base(path), path+".yaml"
	if err := create(file, strings.ReplaceAll(starter, "my_agent", name)); err != nil {
		return err
	}
	_, problems, err := load.Agents([]string{file}, load.Options{LookupEnv: a.lookup, Validate: true})
	if err != nil {
		return err
	}
	if problems.HasErrors() {
		return errors.Join(usageError("%q cannot be an agent's name: %s", name, problems[0].Message), os.Remove(file))
	}
	schema := filepath.Join(filepath.Dir(path), schemaFile)
	content, err := config.Schema()
	if err != nil {
		return err
	}
	if err := create(schema, string(content)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "Wrote %s. Next:\n  adkmcp validate %s\n  adkmcp run %s \"What time is it?\"\n", file, file, file)
	return err
}

// create writes a new file and never touches one that is there.
func create(path, content string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // an agent file is for others to read
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}
