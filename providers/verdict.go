package providers

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"slotkeeper/booking"
)

// KindUnknown is the kind of a body that does not say what it is.
const KindUnknown booking.Kind = "unknown"

// maxKind bounds a kind that a sender names.
const maxKind = 64

// OwnKind is a kind that we have no use for, under the name that its provider
// gives it, reduced to what may stand in a key, a log line and a page.
func OwnKind(name string) booking.Kind {
	if name == "" {
		return KindUnknown
	}
	if len(name) > maxKind {
		name = name[:maxKind]
	}
	return booking.Kind(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '_'
	}, name))
}

// Failed is a signed body that cannot be used: it is kept under a key of its
// kind and bytes, so that a copy of it is known.
func (o Origin) Failed(kind booking.Kind, body []byte, f *Fault) booking.Delivery {
	d := o.delivery(kind, bodyKey(kind, body))
	d.Status, d.Code, d.Error = booking.StatusFailed, f.Code, f.Text
	return d
}

// Ignored is a kind that we have no use for.
func (o Origin) Ignored(kind booking.Kind, body []byte) booking.Delivery {
	d := o.delivery(kind, bodyKey(kind, body))
	d.Status = booking.StatusIgnored
	return d
}

// Pending is a body that does not say enough: what it is about, the subject, is
// fetched later.
func (o Origin) Pending(kind booking.Kind, key, subject string) booking.Delivery {
	d := o.delivery(kind, key)
	d.Status, d.Subject = booking.StatusPending, subject
	return d
}

// Poke is a body that says only to look again at its subject, whatever it is
// called: one look serves all that came before it.
func (o Origin) Poke(kind booking.Kind, key, subject string) booking.Delivery {
	d := o.Pending(kind, key, subject)
	d.Poke = true
	return d
}

// Fetched is what a fetched answer says, under the receipt's own kind and key:
// an event, or a fault that makes the answer useless.
func (o Origin) Fetched(kind booking.Kind, key string, e *booking.Event, f *Fault) booking.Delivery {
	d := o.delivery(kind, key)
	if f != nil {
		d.Status, d.Code, d.Error = booking.StatusFailed, f.Code, f.Text
		return d
	}
	e.Source, e.Key = o.Source, key
	d.Event = e
	return d
}

// Delivered is a body that the state machine judges.
func (o Origin) Delivered(e *booking.Event) booking.Delivery {
	e.Source = o.Source
	d := o.delivery(e.Kind, e.Key)
	d.Event = e
	return d
}

// Told is a body that tells of a host's absence, under the key of its clock.
func (o Origin) Told(kind booking.Kind, b *booking.Block) booking.Delivery {
	d := o.delivery(kind, b.At.Key)
	d.Block = b
	return d
}

func (o Origin) delivery(kind booking.Kind, key string) booking.Delivery {
	return booking.Delivery{ConnectionID: o.ConnectionID, EventKey: key, Kind: kind, Actor: booking.ActorWebhook}
}

func bodyKey(kind booking.Kind, body []byte) string {
	return string(kind) + "|sha256:" + Digest(body)
}

// Digest is a short hash: enough to tell what one connection gets apart.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// KeyTime is how a time stands in an event key.
func KeyTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// Key makes an event key of its parts. A part that may be an e-mail, or could be
// taken for two parts, stands as its HMAC: keys are kept for good and shown.
func (o Origin) Key(parts ...string) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		if strings.ContainsAny(p, "@|") {
			p = "hmac:" + o.EmailKey(booking.NormalizeEmail(p))
		}
		out[i] = p
	}
	return strings.Join(out, "|")
}
