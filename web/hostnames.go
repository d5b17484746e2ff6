package web

import (
	"context"
	"strings"

	"slotkeeper/booking"
)

// hostNames are the names that accounts gave of who can be booked in them.
type hostNames map[booking.IdentityKey]string

// hostNames reads them from the connections, ended ones too: their bookings stay.
func (s *server) hostNames(ctx context.Context) (hostNames, error) {
	all, err := booking.Everything(ctx, s.Records.Connections)
	if err != nil {
		return nil, err
	}
	out := hostNames{}
	for _, c := range all {
		for _, h := range c.Owner.Hosts {
			if h.Name != "" {
				out[booking.IdentityKey{Source: c.Source(), ExternalID: h.ExternalID}] = h.Name
			}
		}
	}
	return out, nil
}

// hostName is what people read for a provider's identity: its name, else a word
// for what it is, else the identity itself.
func (n hostNames) of(source booking.Source, externalID string, l *language) string {
	if name := n[booking.IdentityKey{Source: source, ExternalID: externalID}]; name != "" {
		return name
	}
	return unnamedHost(source, externalID, l)
}

// unnamedHost is a word for an identity whose account gave no name of it. Acuity
// names calendars by numbers.
func unnamedHost(source booking.Source, externalID string, l *language) string {
	if number, ok := strings.CutPrefix(externalID, "calendar|"); ok && source.Provider == acuity {
		return l.t("host.calendar", "Number", number)
	}
	return externalID
}

// identityView is an identity with what people call it.
type identityView struct {
	booking.Identity
	Called string
}

// Named tells whether it is called otherwise than the provider does.
func (i identityView) Named() bool { return i.Called != i.ExternalID }

func (n hostNames) identities(all []booking.Identity, l *language) []identityView {
	out := make([]identityView, len(all))
	for i, id := range all {
		out[i] = identityView{Identity: id, Called: n.of(id.Source, id.ExternalID, l)}
	}
	return out
}
