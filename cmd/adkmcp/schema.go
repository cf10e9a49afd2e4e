package main

import (
	"github.com/spf13/cobra"

	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/config/testfile"
)

func (a *app) schemaCommand() *cobra.Command {
	tests := false
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of agent files",
		Long: `Print the JSON Schema (2020-12) of agent files, or of test files. Editors use it for completion and
checks: put a line such as

  # yaml-language-server: $schema=./agent.schema.json

at the top of an agent file.`,
		Example: "  adkmcp schema > agent.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			of := config.Schema
			if tests {
				of = testfile.Schema
			}
			schema, err := of()
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(schema)
			return err
		},
	}
	cmd.Flags().BoolVar(&tests, "tests", false, "that of test files, NAME.test.yaml")
	return cmd
}
