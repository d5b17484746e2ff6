package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity"
	"slotkeeper/providers/calcom"
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
secret. Calendly and Cal.com are asked with --api-token: a personal access token,
an API key.

With --subscribe the account is asked whose it is, and its webhook is registered
there; with --backfill what is booked from that day on is brought in, by the
server once it runs. When any of that fails nothing is connected.

With --reconnect a connection that is there gets new credentials and keeps its id,
its mapping and its history: its webhook is registered again if it was before, and
what was missed meanwhile is brought in.`,
		Args:      cobra.MatchAll(exactly(1), known(names)),
		ValidArgs: names,
	}
	alwaysJSON(cmd)
	name := cmd.Flags().String("name", "", "what people call the connection (default: the provider's name)")
	subscribe := cmd.Flags().Bool("subscribe", false, "register the webhook through the provider's API")
	backfill := cmd.Flags().String("backfill", "", "bring in what is booked from this day on, such as 2026-11-01")
	reconnect := cmd.Flags().String("reconnect", "", "the id of a connection that gets these credentials")
	apiURL := cmd.Flags().String("api-url", "", "where a self-hosted account's API is (default: the provider's own)")
	keys := accountKeys{
		user:   cmd.Flags().String("api-user", "", "Acuity's numeric user id"),
		key:    c.secretFlag(cmd, "api-key", "Acuity's API key"),
		token:  c.secretFlag(cmd, "api-token", "Calendly's personal access token, or Cal.com's API key"),
		secret: c.secretFlag(cmd, "signing-secret", "what the provider signs with (made when absent)"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		conn, made, err := c.newConnection(args[0], *name, *apiURL, keys.read)
		if err != nil {
			return err
		}
		from, err := dayOrNone("--backfill", *backfill)
		if err != nil {
			return err
		}
		again, err := idOrNone("--reconnect", *reconnect)
		if err != nil {
			return err
		}
		if again != uuid.Nil && *apiURL != "" {
			return &booking.InvalidError{Field: "--api-url", Detail: "a connection keeps the one that it was made with: it is part of every booking's identity"}
		}
		return c.with(cmd.Context(), func(inst *installation) error {
			if *subscribe || from != nil || again != uuid.Nil {
				return c.connectAccount(cmd.Context(), inst, conn, account.Request{ID: again, Name: *name, Subscribe: *subscribe, From: from}, made)
			}
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

// connectAccount connects through the provider's API.
func (c *cli) connectAccount(ctx context.Context, inst *installation, conn providers.Connection, r account.Request, made bool) error {
	r.Provider, r.APIBase, r.API, r.By = conn.Provider, conn.APIBase, conn.API, booking.ActorSystem
	if !made {
		r.Secret = conn.Secrets.Current
	}
	return c.withEngine(ctx, inst, func(e *engine) error {
		done, err := e.accounts.Connect(ctx, r)
		if r.ID != uuid.Nil && errors.Is(err, booking.ErrNotFound) {
			return noConnection("--reconnect", r.ID, err)
		}
		if err != nil {
			return connectError(conn.Provider, err)
		}
		out := c.connectionJSON(done.Connection)
		if done.Manual != nil {
			fmt.Fprintln(c.stderr, done.Manual)
			if done.SecretMade {
				out.SigningSecret = done.Secrets.Current
			}
		}
		if done.Run != nil {
			out.Run = newRunJSON(*done.Run)
		}
		return c.printJSON(out)
	})
}

// connectError says what to do about an account that could not be connected.
func connectError(provider string, err error) error {
	remedy, known := map[account.Cause]string{
		account.CauseCredentials: "the key or token is not accepted: make a new one at " + provider + " and try again",
		account.CauseNoAPI:       "there is no such API at this address: check --api-url",
		account.CauseNoHost:      "nobody knows a host of that name: check --api-url",
		account.CauseCertificate: "its certificate is not accepted: check --api-url, and whether it has expired",
		account.CauseUnreachable: provider + " does not answer, or breaks off: check --api-url and this machine's way out",
		account.CausePrivate:     "its address is private: name the host in " + providers.PrivateHostsSetting + " if it is yours",
		account.CauseCannotAsk:   "--subscribe, --backfill and --reconnect need what the account is asked with: --api-token, or --api-user and --api-key",
	}[account.CauseOf(err)]
	if !known {
		remedy = account.Remedy(provider, err)
	}
	if remedy == "" {
		return err
	}
	return fmt.Errorf("nothing was connected: %s (%w)", remedy, err)
}

// idOrNone is a connection's id; uuid.Nil when none is given.
func idOrNone(field, text string) (uuid.UUID, error) {
	if text == "" {
		return uuid.Nil, nil
	}
	return parseID(field, text)
}

// dayOrNone is the beginning of a day, UTC; nil when none is given.
func dayOrNone(field, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // none is given
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return nil, &booking.InvalidError{Field: field, Detail: fmt.Sprintf("%q is not a day such as 2026-11-01", text)}
	}
	return &day, nil
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
	case calendly.Name, calcom.Name:
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
	if conn.APIBase, err = account.Base(adapter, apiURL); err != nil {
		return conn, false, err
	}
	if conn.APIBase == "" {
		conn.APIBase = conn.ID.String() // such a connection is a base of its own
	}
	if err := keys(&conn); err != nil {
		return conn, false, err
	}
	if conn.Secrets.Current == "" {
		conn.Secrets.Current, made = account.NewSecret(), true
	}
	flag := "--signing-secret"
	if _, own := adapter.(providers.OwnKey); own {
		flag = "--api-key" // it is what posts are signed with
	}
	return conn, made, checkSecret(flag, conn.Secrets.Current)
}

// checkSecret refuses a secret under the name of the flag that it was given with.
func checkSecret(flag, s string) error {
	if len(s) < 16 {
		return &booking.InvalidError{Field: flag, Detail: "it is shorter than 16 characters: whoever guesses it can book and cancel"}
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
	Subscribed   bool `json:"subscribed"`
	Disconnected bool `json:"disconnected"`
	// State is working, quiet, failing, needs_sign_in or disconnected.
	State string `json:"state"`
	// DownSince is when it began to fail; null while it works.
	DownSince      *time.Time `json:"down_since"`
	KeepForms      bool       `json:"keep_forms"` // intake forms and notes of its bookings
	Failures       int        `json:"failures"`   // in a row
	LastDeliveryAt *time.Time `json:"last_delivery_at"`
	// Owner is whose account it is, as far as it was asked.
	Owner         string   `json:"owner,omitempty"`
	Failure       string   `json:"failure,omitempty"`
	SigningSecret string   `json:"signing_secret,omitempty"`
	Run           *runJSON `json:"run,omitempty"`
}

func (c *cli) connectionJSON(conn providers.Connection) connectionJSON {
	return connectionJSON{
		ID: conn.ID, Provider: conn.Provider, Name: conn.Name, APIBase: conn.APIBase,
		WebhookURL:   conn.WebhookURL(c.cfg.publicURL),
		Disconnected: conn.DisconnectedAt != nil, Subscribed: conn.Subscription == providers.Registered,
		KeepForms: conn.KeepForms, State: string(conn.State(c.now())), Owner: cmp.Or(conn.Owner.Name, conn.Owner.Email), Failure: conn.Health.Failure,
		DownSince: conn.DownSince(), Failures: conn.Health.Failures, LastDeliveryAt: conn.LastDeliveryAt,
	}
}
