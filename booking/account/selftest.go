package account

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// HopName names a step of a selftest.
type HopName string

// The hops, in the order in which they are made.
const (
	HopAddress HopName = "address" // the public URL's host is looked up
	HopConnect HopName = "connect" // and connected to
	HopTLS     HopName = "tls"     // and has a certificate
	HopPost    HopName = "post"    // a signed selftest is posted to the webhook URL
	HopAnswer  HopName = "answer"  // what that is answered
	HopReceipt HopName = "receipt" // the receipt is found in the database
	HopAPI     HopName = "api"     // the provider's API is asked
	HopWebhook HopName = "webhook" // the webhook that is registered there
)

// Hop is how one step of a selftest went.
type Hop struct {
	Name HopName
	OK   bool
	// Detail is what was found, Remedy what to do: about a hop that failed, or to
	// think of about one that did not. Neither holds a secret.
	Detail, Remedy string
	// Found says the same in a word, for pages that speak another language than
	// Detail does, and Values are what stands in their sentence. Said is what somebody
	// else answered, in their own words.
	Found  HopFinding
	Values map[string]string
	Said   string
	Took   time.Duration
}

// hopTimeout is the most that one hop may take.
const hopTimeout = 15 * time.Second

// hop takes the time of a step.
func (a *Accounts) hop(ctx context.Context, name HopName, step func(ctx context.Context, h *Hop) error) Hop {
	h := Hop{Name: name, OK: true}
	within, stop := context.WithTimeout(ctx, hopTimeout)
	defer stop()
	began := a.opts.Now()
	if err := step(within, &h); err != nil {
		h.OK, h.Detail = false, err.Error()
	}
	h.Took = a.opts.Now().Sub(began)
	return h
}

// SelfTest follows the way of a delivery to a connection: it posts a signed
// selftest, which is ignored, through the public URL, and looks for it in the
// database; then it asks the provider's API, if it can be asked. It changes nothing
// at the provider. Hops that the one before makes pointless are left out. It is
// sent from this machine: what lies between the provider and us may still differ.
func (a *Accounts) SelfTest(ctx context.Context, id uuid.UUID) ([]Hop, error) {
	c, err := a.opts.Store.Connection(ctx, id)
	if err != nil {
		return nil, err
	}
	if c.DisconnectedAt != nil {
		return nil, &booking.InvalidError{Field: "connection", Detail: "it is disconnected, and takes no posts: connect it again"}
	}
	p, known := a.opts.Providers[c.Provider]
	if !known {
		return nil, fmt.Errorf("there is no adapter for %s in this version", c.Provider)
	}
	hops := a.Reach(ctx)
	if hops[len(hops)-1].OK {
		hops = append(hops, a.deliver(ctx, p, c)...)
	}
	return append(hops, a.ask(ctx, c)...), nil
}

// deliver posts a selftest and follows it.
func (a *Accounts) deliver(ctx context.Context, p providers.Provider, c providers.Connection) []Hop {
	body := p.Selftest(uuid.NewString())
	var got posted
	post := a.hop(ctx, HopPost, func(ctx context.Context, h *Hop) (err error) {
		got, err = a.post(ctx, a.Target(c), body, p.Sign(body, c.Secrets.Current, a.opts.Now()))
		h.found(FoundPosted, "Status", strconv.Itoa(got.status))
		h.Detail = fmt.Sprintf("posted from this machine (%s), not from the provider, to %s, and answered %d", machine(), a.Target(c), got.status)
		h.Remedy = "a firewall or a proxy may still treat the provider's posts otherwise"
		if err != nil {
			h.found(FoundNoPost)
			h.Remedy = "look at the server's log, and at that of whatever stands in front of it"
		}
		return err
	})
	if !post.OK {
		return []Hop{post}
	}
	var receipt uuid.UUID
	answer := a.hop(ctx, HopAnswer, func(_ context.Context, h *Hop) (err error) {
		receipt, err = got.judge(h, c.Provider)
		return err
	})
	answer.Took = 0 // it came with the post
	if !answer.OK {
		return []Hop{post, answer}
	}
	return []Hop{post, answer, a.hop(ctx, HopReceipt, func(ctx context.Context, h *Hop) error {
		return a.findReceipt(ctx, h, c.ID, receipt)
	})}
}

// machine is this machine's name, as far as it has one.
func machine() string {
	name, err := os.Hostname()
	if err != nil {
		return "its name is not known"
	}
	return name
}

func (a *Accounts) findReceipt(ctx context.Context, h *Hop, connection, receipt uuid.UUID) error {
	found, err := a.opts.Store.Receipts(ctx, booking.Filter{ReceiptID: &receipt, ConnectionID: &connection}, booking.Page{Limit: 1})
	if err != nil {
		h.found(FoundNoDatabase)
		h.Remedy = "see doctor about the database"
		return err
	}
	if len(found.Items) == 0 {
		h.found(FoundOtherDatabase)
		h.Remedy = "the server that answers at the public URL has another database than this command: give both the same settings"
		return fmt.Errorf("the receipt %s is not in this database", receipt)
	}
	r := found.Items[0]
	if r.Kind != booking.KindSelftest || r.Status != booking.StatusIgnored {
		h.found(FoundStoredOtherwise)
		return fmt.Errorf("the receipt %s is a %s %s, not an ignored selftest", r.ID, r.Status, r.Kind)
	}
	h.found(FoundStored)
	h.Detail = fmt.Sprintf("the receipt %s is in the database", r.ID)
	return nil
}

// Asked is what a connection's API says.
type Asked struct {
	// Registered says that we registered a webhook, Hook how that is; one that was
	// entered by hand no API tells of.
	Registered bool
	Hook       providers.HookState
}

// Ask asks a connection's API whether its credentials are accepted and its webhook
// stands. Unlike Check it repairs nothing and keeps nothing: whoever looks with the
// wrong settings must not register a webhook for the wrong URL.
func (a *Accounts) Ask(ctx context.Context, id uuid.UUID) (Asked, error) {
	c, api, err := a.Ready(ctx, id)
	if err != nil {
		return Asked{}, err
	}
	return a.inquire(ctx, c, api)
}

func (a *Accounts) inquire(ctx context.Context, c providers.Connection, api providers.Account) (out Asked, err error) {
	if c.Subscription != providers.Registered {
		_, err = api.Identify(ctx, a.opts.Client, c)
		return out, err
	}
	out.Registered = true
	hooks, err := api.Hooks(ctx, a.opts.Client, c, a.Target(c))
	if err == nil {
		out.Hook = providers.StateOfHooks(api.HookKinds(), hooks)
	}
	return out, err
}

// ask is the provider's side; nothing for connections that cannot be asked.
func (a *Accounts) ask(ctx context.Context, c providers.Connection) []Hop {
	if _, err := a.adapter(c); err != nil {
		return nil
	}
	var asked Asked
	api := a.hop(ctx, HopAPI, func(ctx context.Context, h *Hop) (err error) {
		asked, err = a.Ask(ctx, c.ID)
		h.found(FoundAccepted)
		if err != nil {
			h.found(FoundTrouble, "Cause", string(CauseOf(err)))
			h.Said = Said(err)
		}
		h.Detail = c.Provider + " accepts the credentials"
		h.Remedy = Remedy(c.Provider, err)
		return err
	})
	if !api.OK {
		return []Hop{api}
	}
	hook := a.hop(ctx, HopWebhook, func(_ context.Context, h *Hop) error {
		return asked.judge(h, c, a.Target(c))
	})
	return []Hop{api, hook}
}

// judge says how a connection's webhook is.
func (k Asked) judge(h *Hop, c providers.Connection, target string) error {
	if !k.Registered {
		h.found(FoundHookByHand)
		h.Detail = "it was not registered by us: only the provider's posts show whether it was entered there"
		return nil
	}
	topics := make([]string, 0, len(k.Hook.Missing))
	for _, t := range k.Hook.Topics() {
		topics = append(topics, string(t))
	}
	h.Detail = k.Hook.String()
	switch k.Hook.Trouble {
	case "":
		h.found(FoundHook)
		h.Detail = c.Provider + " has our webhook, and it is active"
		return nil
	case providers.HookFailing:
		h.found(FoundHookFailing)
		h.Remedy = "see what the log says of these posts"
		return nil
	case providers.HookDated:
		h.found(FoundHookDated, HopTopics, strings.Join(topics, " "))
		h.Remedy = "nothing, if this " + c.Provider + " is an old one; else " + again
		return nil
	case providers.HookGone:
		h.found(FoundNoHook)
	case providers.HookOff:
		h.found(FoundHookOff)
	case providers.HookPartlyOff:
		h.found(FoundHookPartly)
	case providers.HookForeign:
		h.found(FoundHookForeign)
	case providers.HookTemplated:
		h.found(FoundHookTemplated)
	case providers.HookNarrowed:
		h.found(FoundHookNarrowed, HopTopics, strings.Join(topics, " "))
	}
	h.Remedy = again
	return fmt.Errorf("at %s, for %s: %s", c.Provider, target, k.Hook)
}

const again = "the running server registers it anew within half an hour; or connect the account again"

// Remedy is what to do about an error of asking a provider; "" for none.
func Remedy(provider string, err error) string {
	if err == nil {
		return ""
	}
	switch CauseOf(err) {
	case CauseCredentials:
		return "the key or token is no longer accepted: connect the account again with a new one"
	case CauseKeyRefused, CauseKeyForeign:
		return "copy user id and API key again, both from the account that was signed in at"
	case CauseApp:
		return provider + " does not accept the app of this installation: an administrator looks at its client id and secret, see docs/settings.md"
	case CauseForbidden:
		return "the key or token is accepted, but may not do this: use one of an administrator, with all the scopes that docs/connecting.md names"
	case CauseNoAPI:
		return "there is no such API at the connection's address: has it moved?"
	case CauseUnreachable:
		return provider + " does not answer, or breaks off: look at this machine's way out, and try again later"
	case CauseNoHost:
		return "nobody knows a host of that name: look at the connection's address, and at this machine's domain name server"
	case CauseCertificate:
		return "the certificate at the connection's address is not accepted: has it expired, or is something in between?"
	case CausePrivate:
		return "name the host in " + providers.PrivateHostsSetting + " if it is yours"
	case CauseLimited:
		return provider + " asks to be left alone for now: try again in some minutes"
	case CauseProvider:
		return provider + " fails at the moment: try again later"
	case CauseOwn:
		return "our database is away: see doctor"
	case CauseInput, CauseCannotAsk, CauseUnknown:
	}
	return ""
}

// said is the beginning of an answer, for people: one line of plain text.
func said(body []byte) string {
	const most = 200
	text := strings.Join(strings.Fields(string(bytes.ToValidUTF8(body, []byte("�")))), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}

var errNotOurs = errors.New("something else than Slotkeeper answers at the public URL")
