package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/booking/intake"
	"slotkeeper/booking/notify"
	"slotkeeper/booking/vault"
	"slotkeeper/providers"
	"slotkeeper/providers/calendly"
)

// config is what the environment or its flags set. docs/settings.md lists it.
type config struct {
	// DatabaseURL is postgres://…, or empty for SQLite in DataDir.
	DatabaseURL string
	// DataDir holds the embedded database and, without a database URL, the key.
	DataDir string
	// Listen is host:port of the main listener.
	Listen string
	// AdminListen is host:port for metrics and profiles; empty keeps metrics on
	// the main listener, behind a token.
	AdminListen string
	// PublicURL is how providers and browsers reach the main listener; empty is
	// http:// and Listen.
	PublicURL string
	// SecretKey seals bodies and secrets: 32 bytes in base64 or hexadecimal. It
	// comes from the environment only: a flag would show in the process list.
	SecretKey string
	// AdminPassword makes the user admin at the first start.
	AdminPassword string
	// TrustedProxies are addresses or prefixes, comma-separated, whose
	// X-Forwarded-For is believed.
	TrustedProxies string
	// LogFormat is text or json.
	LogFormat string
	// MaxSet is the most deliveries in one transaction; 1 turns sets off.
	MaxSet int
	// CalendlyTolerance is how old a Calendly signature may be.
	CalendlyTolerance time.Duration
	// AllowPrivateHosts are hosts that calls to providers' APIs may reach on
	// private networks.
	AllowPrivateHosts string
	// Tempo makes time pass faster for calls to providers and their retries; for
	// tests only.
	Tempo int

	// CalendlyApp and AcuityApp are this installation's OAuth apps there.
	CalendlyApp, AcuityApp account.App

	// SMTPURL is the mail server that alerts go over, AlertFrom who sends them. The URL
	// holds a password: it comes from the environment only.
	SMTPURL, AlertFrom string

	// KeepTexts are the periods of retention, and keep is what they say.
	KeepTexts keepTexts

	keep      booking.Keep
	mail      *notify.Mailer // nil for none
	private   providers.AllowedHosts
	publicURL *url.URL
	proxies   []netip.Prefix
	problems  []error
}

// bind makes a flag of every setting, with the environment's value as default.
func (c *config) bind(f *pflag.FlagSet, getenv func(string) string) {
	env := func(name, otherwise string) string {
		if v := getenv("SLOTKEEPER_" + name); v != "" {
			return v
		}
		return otherwise
	}
	f.StringVar(&c.DatabaseURL, "database-url", c.secret(getenv, "DATABASE_URL"), "postgres://…; empty: SQLite in the data directory (SLOTKEEPER_DATABASE_URL)")
	f.Lookup("database-url").DefValue = "" // help shows defaults, and the value may hold a password
	f.StringVar(&c.DataDir, "data-dir", env("DATA_DIR", "./data"), "where the embedded database and its key are (SLOTKEEPER_DATA_DIR)")
	f.StringVar(&c.Listen, "listen", env("LISTEN", "127.0.0.1:8080"), "host:port to serve on (SLOTKEEPER_LISTEN)")
	f.StringVar(&c.AdminListen, "admin-listen", env("ADMIN_LISTEN", ""), "host:port for metrics and profiles (SLOTKEEPER_ADMIN_LISTEN)")
	f.StringVar(&c.PublicURL, "public-url", env("PUBLIC_URL", ""), "how providers and browsers reach this server (SLOTKEEPER_PUBLIC_URL)")
	f.StringVar(&c.TrustedProxies, "trusted-proxies", env("TRUSTED_PROXIES", ""), "addresses or prefixes whose X-Forwarded-For is believed (SLOTKEEPER_TRUSTED_PROXIES)")
	f.StringVar(&c.LogFormat, "log-format", env("LOG_FORMAT", "text"), "text or json (SLOTKEEPER_LOG_FORMAT)")
	f.IntVar(&c.MaxSet, "max-set", c.number("MAX_SET", env("MAX_SET", ""), intake.DefaultMaxSet), "most deliveries in one transaction; 1 turns sets off (SLOTKEEPER_MAX_SET)")
	f.DurationVar(&c.CalendlyTolerance, "calendly-tolerance", c.duration("CALENDLY_TOLERANCE", env("CALENDLY_TOLERANCE", ""), calendly.DefaultTolerance),
		"how old a Calendly signature may be (SLOTKEEPER_CALENDLY_TOLERANCE)")
	f.StringVar(&c.AllowPrivateHosts, "allow-private-hosts", env("ALLOW_PRIVATE_HOSTS", ""), "hosts that calls to providers' APIs and webhooks may reach on private networks (SLOTKEEPER_ALLOW_PRIVATE_HOSTS)")
	f.IntVar(&c.Tempo, "tempo", c.number("TEMPO", env("TEMPO", ""), 1), "how many times faster the providers' limits and our retries run; for tests (SLOTKEEPER_TEMPO)")
	f.StringVar(&c.CalendlyApp.ID, "calendly-client-id", env("CALENDLY_CLIENT_ID", ""), "this installation's OAuth app at Calendly (SLOTKEEPER_CALENDLY_CLIENT_ID)")
	f.StringVar(&c.CalendlyApp.Base, "calendly-auth-url", env("CALENDLY_AUTH_URL", ""), "where Calendly authorises, if not at its own host (SLOTKEEPER_CALENDLY_AUTH_URL)")
	f.StringVar(&c.AcuityApp.ID, "acuity-client-id", env("ACUITY_CLIENT_ID", ""), "this installation's OAuth app at Acuity (SLOTKEEPER_ACUITY_CLIENT_ID)")
	f.StringVar(&c.AcuityApp.Base, "acuity-auth-url", env("ACUITY_AUTH_URL", ""), "where Acuity authorises, if not at its own host (SLOTKEEPER_ACUITY_AUTH_URL)")
	f.StringVar(&c.AlertFrom, "alert-from", env("ALERT_FROM", ""), "the sender of e-mails about alerts (SLOTKEEPER_ALERT_FROM)")
	c.KeepTexts.bind(f, env)
	c.SMTPURL = env("SMTP_URL", "")
	c.CalendlyApp.Secret = env("CALENDLY_CLIENT_SECRET", "")
	c.CalendlyApp.SigningKey = env("CALENDLY_SIGNING_KEY", "")
	c.AcuityApp.Secret = env("ACUITY_CLIENT_SECRET", "")
	c.SecretKey = c.secret(getenv, "SECRET_KEY")
	c.AdminPassword = c.secret(getenv, "ADMIN_PASSWORD")
}

func (c *config) number(name, v string, otherwise int) int {
	if v == "" {
		return otherwise
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		c.problems = append(c.problems, fmt.Errorf("SLOTKEEPER_%s: %q is not a number", name, v))
		return otherwise
	}
	return n
}

func (c *config) duration(name, v string, otherwise time.Duration) time.Duration {
	if v == "" {
		return otherwise
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		c.problems = append(c.problems, fmt.Errorf("SLOTKEEPER_%s: %q is not a duration such as 25h or 5m", name, v))
		return otherwise
	}
	return d
}

// validate reports all that is wrong at once.
func (c *config) validate() error {
	errs := c.problems
	if c.DatabaseURL != "" && !strings.HasPrefix(c.DatabaseURL, "postgres://") && !strings.HasPrefix(c.DatabaseURL, "postgresql://") {
		// The value may hold a password: it is not repeated.
		errs = append(errs, errors.New("SLOTKEEPER_DATABASE_URL: it does not begin with postgres://; leave it empty for the embedded database"))
	}
	if c.SecretKey != "" {
		if _, err := vault.KeyFromText(c.SecretKey); err != nil {
			errs = append(errs, fmt.Errorf("SLOTKEEPER_SECRET_KEY: %w", err))
		}
	}
	if !hostPort(c.Listen) {
		errs = append(errs, fmt.Errorf("SLOTKEEPER_LISTEN: %q is not host:port", c.Listen))
		c.Listen = "127.0.0.1:0" // so that the public URL made of it is not blamed too
	}
	if c.AdminListen != "" && !hostPort(c.AdminListen) {
		errs = append(errs, fmt.Errorf("SLOTKEEPER_ADMIN_LISTEN: %q is not host:port", c.AdminListen))
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		errs = append(errs, fmt.Errorf("SLOTKEEPER_LOG_FORMAT: %q is neither text nor json", c.LogFormat))
	}
	if c.MaxSet < 1 || c.MaxSet > intake.DefaultMaxSet {
		errs = append(errs, fmt.Errorf("SLOTKEEPER_MAX_SET: %d is not between 1 and %d", c.MaxSet, intake.DefaultMaxSet))
	}
	if c.CalendlyTolerance <= 0 {
		errs = append(errs, fmt.Errorf("SLOTKEEPER_CALENDLY_TOLERANCE: %s is not positive", c.CalendlyTolerance))
	}
	if c.Tempo < 1 {
		errs = append(errs, fmt.Errorf("SLOTKEEPER_TEMPO: %d is not 1 or more", c.Tempo))
	}
	for name, app := range map[string]account.App{"CALENDLY": c.CalendlyApp, "ACUITY": c.AcuityApp} {
		if (app.ID == "") != (app.Secret == "") {
			errs = append(errs, fmt.Errorf("SLOTKEEPER_%s_CLIENT_ID and SLOTKEEPER_%s_CLIENT_SECRET: give both, or neither", name, name))
		}
	}
	if c.CalendlyApp.ID != "" && c.CalendlyApp.SigningKey == "" {
		errs = append(errs, errors.New("SLOTKEEPER_CALENDLY_SIGNING_KEY: it is missing: Calendly signs an app's webhooks with the key that its developer portal shows"))
	}
	var err error
	if c.private, err = providers.ParseAllowedHosts(c.AllowPrivateHosts); err != nil {
		errs = append(errs, fmt.Errorf("SLOTKEEPER_ALLOW_PRIVATE_HOSTS: %w", err))
	}
	if (c.SMTPURL == "") != (c.AlertFrom == "") {
		errs = append(errs, errors.New("SLOTKEEPER_SMTP_URL and SLOTKEEPER_ALERT_FROM: give both, or neither"))
	} else if c.SMTPURL != "" {
		if c.mail, err = notify.NewMailer(c.SMTPURL, c.AlertFrom, time.Now); err != nil {
			errs = append(errs, fmt.Errorf("SLOTKEEPER_SMTP_URL and SLOTKEEPER_ALERT_FROM: %w", err))
		}
	}
	if c.keep, err = c.KeepTexts.parse(); err != nil {
		errs = append(errs, err)
	}
	if c.publicURL, err = c.public(); err != nil {
		errs = append(errs, err)
	}
	if c.proxies, err = parseProxies(c.TrustedProxies); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func hostPort(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

func (c *config) public() (*url.URL, error) {
	raw := c.PublicURL
	if raw == "" {
		host, port, _ := net.SplitHostPort(c.Listen)
		if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
			host = "127.0.0.1"
		}
		raw = "http://" + net.JoinHostPort(host, port)
	}
	u, err := url.Parse(strings.TrimRight(raw, "/"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("SLOTKEEPER_PUBLIC_URL: %q is not http(s)://host[:port]", raw)
	}
	return u, nil
}

func parseProxies(list string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for part := range strings.SplitSeq(list, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		if addr, err := netip.ParseAddr(part); err == nil {
			out = append(out, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("SLOTKEEPER_TRUSTED_PROXIES: %q is neither an address nor a prefix", part)
		}
		out = append(out, prefix)
	}
	return out, nil
}

// database is the URL that the store opens.
func (c *config) database() string {
	if c.DatabaseURL != "" {
		return c.DatabaseURL
	}
	return "sqlite:" + c.file()
}

// file is the embedded database's.
func (c *config) file() string { return filepath.Join(c.DataDir, "slotkeeper.db") }

// keyFile is the key's, when it is not given.
func (c *config) keyFile() string { return filepath.Join(c.DataDir, "secret.key") }
