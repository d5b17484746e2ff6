package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// healthTimeout is how long a server may take to say that it is there.
const healthTimeout = 4 * time.Second

// healthcheckCommand asks the server of the same settings whether it is there. An
// image without a shell has nothing else to ask with.
func (c *cli) healthcheckCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "healthcheck", Short: "Ask the server on this machine whether it is there", Args: cobra.NoArgs}
	ready := cmd.Flags().Bool("ready", false, "ask whether it can reach its database, too")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path := "/healthz"
		if *ready {
			path = "/readyz"
		}
		req, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, "http://"+nearAddress(c.cfg.Listen)+path, http.NoBody)
		if err != nil {
			return err
		}
		client := &http.Client{Timeout: healthTimeout}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %d", path, res.StatusCode)
		}
		fmt.Fprintln(c.stdout, "ok")
		return nil
	}
	return cmd
}

// nearAddress is how this machine reaches what listens on an address: one that means
// all of the machine's is no address to call.
func nearAddress(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
