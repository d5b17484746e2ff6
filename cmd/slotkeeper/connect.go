package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity"
	"slotkeeper/providers/calendly"
)

// known is one of the providers that there are.
func known(names []string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if !slices.Contains(names, args[0]) {
			return &booking.InvalidError{Field: "provider", Detail: fmt.Sprintf("%q is not one of %s", args[0], strings.Join(names, ", "))}
		}
		return nil
	}
}

func (c *cli) connectCommand() *cobra.Command {
	names := slices.Sorted(maps.Keys(adapters(&c.cfg)))
	cmd := &cobra.Command{
		Use:   "connect <" + strings.Join(names, "|") + ">",
		Short: "Make a connection to an account, and print its webhook URL and secret",
		Long: `Make a connection: a webhook URL of its own with a secret of its own.

Enter both at the provider. Where no --signing-secret is given one is made and
printed, once: it is stored encrypted and never shown again.

Acuity tells only that something changed, and signs with the account's API key:
it needs --api-user and --api-key (Acuity: Integrations, API), and makes no
secret. With a personal access token in --api-token, Calendly is asked for what
its oldest bodies leave out.`,
		Args:      cobra.MatchAll(exactly(1), known(names)),
		ValidArgs: names,
	}
	alwaysJSON(cmd)
	name := cmd.Flags().String("name", "", "what people call the connection (default: the provider's name)")
	apiURL := cmd.Flags().String("api-url", "", "where a self-hosted account's API is (default: the provider's own)")
	keys := accountKeys{
		user:   cmd.Flags().String("api-user", "", "Acuity's numeric user id"),
		key:    c.secretFlag(cmd, "api-key", "Acuity's API key"),
		token:  c.secretFlag(cmd, "api-token", "Calendly's personal access token"),
		secret: c.secretFlag(cmd, "signing-secret", "what the provider signs with (made when absent)"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		conn, made, err := c.newConnection(args[0], *name, *apiURL, keys.read)
		if err != nil {
			return err
		}
		return c.with(cmd.Context(), func(inst *installation) error {
			if err := inst.store.CreateConnection(cmd.Context(), conn); err != nil {
				return err
			}
			out := c.connectionJSON(conn)
			if made {
				out.SigningSecret = conn.Secrets.Current
			}
			return c.printJSON(out)
		})
	}
	return cmd
}

// accountKeys are what an account is called and proven with, as flags.
type accountKeys struct {
	user               *string
	key, token, secret func() (string, error)
}

// read puts into a connection what its provider takes of it, and refuses the rest.
func (k accountKeys) read(conn *providers.Connection) error {
	key, err1 := k.key()
	token, err2 := k.token()
	secret, err3 := k.secret()
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	refuse := func(given, flag string) error {
		if given == "" {
			return nil
		}
		return &booking.InvalidError{Field: flag, Detail: conn.Provider + " has no use for it"}
	}
	switch conn.Provider {
	case acuity.Name:
		if *k.user == "" || key == "" {
			return &booking.InvalidError{Field: "--api-user, --api-key", Detail: "Acuity needs both: it signs with the key, and what changed is asked for with them"}
		}
		conn.API.User, conn.Secrets.Current = *k.user, key
		return errors.Join(refuse(token, "--api-token"), refuse(secret, "--signing-secret"))
	case calendly.Name:
		conn.API.Token, conn.Secrets.Current = token, secret
		return errors.Join(refuse(*k.user, "--api-user"), refuse(key, "--api-key"))
	}
	conn.Secrets.Current = secret
	return errors.Join(refuse(*k.user, "--api-user"), refuse(key, "--api-key"), refuse(token, "--api-token"))
}

// newConnection is a connection as the flags say it; made tells that its secret
// was made here.
func (c *cli) newConnection(provider, name, apiURL string, keys func(*providers.Connection) error) (conn providers.Connection, made bool, err error) {
	adapter := adapters(&c.cfg)[provider]
	conn = providers.Connection{ID: uuid.Must(uuid.NewV7()), Provider: provider, Name: name, CreatedAt: c.now()}
	if conn.Name == "" {
		conn.Name = provider
	}
	if conn.APIBase, err = apiBase(adapter, conn.ID, apiURL); err != nil {
		return conn, false, err
	}
	if err := keys(&conn); err != nil {
		return conn, false, err
	}
	if conn.Secrets.Current == "" {
		conn.Secrets.Current, made = newSigningSecret(), true
	}
	return conn, made, checkSecret(conn.Secrets.Current)
}

// apiBase is part of every booking's identity: it is written in one way only.
func apiBase(p providers.Provider, id uuid.UUID, raw string) (string, error) {
	if raw == "" {
		if base := p.APIBase(); base != "" {
			return base, nil
		}
		return id.String(), nil
	}
	if p.APIBase() == "" {
		return "", &booking.InvalidError{Field: "--api-url", Detail: p.Name() + " has no API"}
	}
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.RawQuery != "" || u.User != nil {
		return "", &booking.InvalidError{Field: "--api-url", Detail: "give it as https://host[/path]"}
	}
	u.Host, u.Fragment = strings.ToLower(u.Host), ""
	return strings.TrimRight(u.String(), "/"), nil
}

// newSigningSecret has 256 bits, in letters that every provider's form takes.
func newSigningSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails; it ends the process rather
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func checkSecret(s string) error {
	if len(s) < 16 {
		return &booking.InvalidError{Field: "--signing-secret", Detail: "it is shorter than 16 characters: whoever guesses it can book and cancel"}
	}
	return nil
}

// secretFlag is a flag for a secret, with its -file form and its environment
// variable, which do not show in the process list. It returns "" when none is
// given.
func (c *cli) secretFlag(cmd *cobra.Command, name, usage string) func() (string, error) {
	variable := "SLOTKEEPER_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	value := cmd.Flags().String(name, "", usage+"; better "+variable+" or --"+name+"-file")
	file := cmd.Flags().String(name+"-file", "", "a file with it; - is the standard input")
	return func() (string, error) {
		switch {
		case *value != "" && *file != "":
			return "", &booking.InvalidError{Field: "--" + name, Detail: "give it once: as it is, or in a file"}
		case *value != "":
			return *value, nil
		case *file != "":
			return c.readSecret(*file)
		}
		return c.getenv(variable), nil
	}
}

func (c *cli) readSecret(path string) (string, error) {
	in := c.stdin
	if path != "-" {
		f, err := os.Open(path) //nolint:gosec // G304: the operator names the file
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, 64<<10))
	if err != nil {
		return "", fmt.Errorf("read the secret: %w", err)
	}
	s := strings.TrimRight(string(b), "\r\n")
	if s == "" {
		if path == "-" {
			return "", errors.New("nothing was given on the standard input")
		}
		return "", fmt.Errorf("%s is empty", path)
	}
	return s, nil
}

type connectionJSON struct {
	ID         uuid.UUID `json:"id"`
	Provider   string    `json:"provider"`
	Name       string    `json:"name"`
	APIBase    string    `json:"api_base"`
	WebhookURL string    `json:"webhook_url"`
	// Subscribed says that the webhook was registered through the provider's
	// API; otherwise a person enters it there.
	Subscribed    bool   `json:"subscribed"`
	Disconnected  bool   `json:"disconnected"`
	SigningSecret string `json:"signing_secret,omitempty"`
}

func (c *cli) connectionJSON(conn providers.Connection) connectionJSON {
	return connectionJSON{
		ID: conn.ID, Provider: conn.Provider, Name: conn.Name, APIBase: conn.APIBase,
		WebhookURL:   c.cfg.publicURL.JoinPath("webhooks", conn.Provider, conn.ID.String()).String(),
		Disconnected: conn.DisconnectedAt != nil,
	}
}
