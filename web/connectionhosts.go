package web

import (
	"context"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// hostView is who can be booked in an account, and the resource that they are.
type hostView struct {
	booking.Host
	// Resource is the name of what it maps to; "" for nothing.
	Resource string
	Link     string
	// Assign is where it gets a resource; "" where the viewer may not. Later says that
	// it cannot yet: no booking has named it.
	Assign string
	Later  bool
	// Unnamed is a word for one who has neither name nor e-mail.
	Unnamed string
}

// Called is the host's name, else its e-mail, else a word for what it is.
func (h hostView) Called() string {
	for _, name := range []string{h.Name, h.Email} {
		if name != "" {
			return name
		}
	}
	return h.Unnamed
}

// maps sets who can be booked in an account, mapped as the bookings' hosts are: by
// what a person mapped, else by e-mail.
func (v *connectionView) maps(resources []booking.ResourceView, l *language) {
	source, mapped := v.Source(), map[uuid.UUID]bool{}
	type known struct{ own, mail *booking.ResourceView }
	find := func(h booking.Host) (k known) {
		for i := range resources {
			for _, id := range resources[i].Identities {
				switch {
				case id.Source == source && id.ExternalID == h.ExternalID:
					k.own = &resources[i]
				case h.Email != "" && id.Source.Provider == "" && id.Email == h.Email:
					k.mail = &resources[i]
				}
			}
		}
		return k
	}
	for _, h := range v.Owner.Hosts {
		host := hostView{Host: h, Unnamed: unnamedHost(source, h.ExternalID, l)}
		k := find(h)
		r := k.own
		if r == nil {
			r = k.mail
		}
		if r != nil {
			host.Resource, host.Link = r.Name, resourceLink(r.ID)
			mapped[r.ID] = true
		} else {
			v.Unmapped++
		}
		v.Hosts = append(v.Hosts, host)
	}
	v.Resources = len(mapped)
}

// hostsOf sets who can be booked in an account, and where who has no resource gets one.
func (s *server) hostsOf(ctx context.Context, v *connectionView, who viewer) error {
	resources, err := booking.Everything(ctx, s.Records.Resources)
	if err != nil {
		return err
	}
	if v.maps(resources, who.language); v.Unmapped == 0 || !who.may(access.MapResources) {
		return nil
	}
	waiting, err := s.Resources.Unmapped(ctx, s.Now())
	if err != nil {
		return err
	}
	assign := map[string]string{}
	for _, u := range waiting {
		if u.Source == v.Source() {
			assign[u.ExternalID] = unmappedLink(u.Identity)
		}
	}
	for i, h := range v.Hosts {
		if h.Resource == "" {
			v.Hosts[i].Assign = assign[h.ExternalID]
			v.Hosts[i].Later = v.Hosts[i].Assign == ""
		}
	}
	return nil
}
