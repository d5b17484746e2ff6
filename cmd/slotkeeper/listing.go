package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// listing is a command that lists what an installation has: with --json as it is, else
// a line each, its cells in columns.
func listing[T, J any](c *cli, short string, read func(context.Context, *installation) ([]T, error), item func(T) J, cells func(J) []any) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: short, Args: cobra.NoArgs}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return c.withExisting(cmd.Context(), func(inst *installation) error {
			all, err := read(cmd.Context(), inst)
			if err != nil {
				return err
			}
			out := make([]J, 0, len(all))
			for _, v := range all {
				out = append(out, item(v))
			}
			if *asJSON {
				return c.printJSON(out)
			}
			w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
			for _, v := range out {
				row := cells(v)
				fmt.Fprintf(w, strings.TrimSuffix(strings.Repeat("%v\t", len(row)), "\t")+"\n", row...)
			}
			return w.Flush()
		})
	}
	return cmd
}

// usage says of a secret whether it still opens anything, and when it last did; did
// is what is done with it.
func usage(did string, last, revoked *time.Time) string {
	switch {
	case revoked != nil:
		return "revoked " + revoked.Format(time.RFC3339)
	case last != nil:
		return "last " + did + " " + last.Format(time.RFC3339)
	}
	return "never " + did
}
