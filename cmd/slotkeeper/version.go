package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is set by the linker for a build that is given a version.
var release = ""

func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}

func (c *cli) versionCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		if *asJSON {
			return c.printJSON(map[string]string{"version": version()})
		}
		fmt.Fprintln(c.stdout, "slotkeeper", version())
		return nil
	}
	return cmd
}
