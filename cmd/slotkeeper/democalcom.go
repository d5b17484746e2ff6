package main

import (
	"context"
	"net/url"
	"strings"

	"slotkeeper/providers"
	"slotkeeper/providers/calcom/calcomtest"
)

// demoCalcomKey is the key of an account that whoever tries the demo can connect.
const demoCalcomKey = "cal_demo_0123456789abcdef"

// playCalcom serves a self-hosted Cal.com with an account that is not connected yet,
// and has two bookings to bring in.
func (c *cli) playCalcom(ctx context.Context, day demoDay) (*calcomtest.Server, error) {
	cal := calcomtest.New(calcomtest.Options{
		Key: demoCalcomKey, User: calcomtest.Host{ID: 1, Name: "Wanda Brook", Email: "wanda.brook@harbourclinic.example", Username: "wanda", Timezone: day.zone()},
		Now: c.now,
	})
	if err := cal.Start(ctx); err != nil {
		return nil, err
	}
	cal.AddEventType(calcomtest.EventType{ID: 1, Slug: "nutrition", Title: "Nutrition advice", Minutes: 30, Location: "Harbour Street 12"})
	for hour, name := range map[int]string{9: "Emeka Obi", 11: "Clara Weiss"} {
		who := calcomtest.Person{Name: name, Email: person(name), Timezone: day.zone()}
		if _, _, err := cal.Book(1, who, day.at(hour, 0)); err != nil {
			return nil, err
		}
	}
	return cal, nil
}

// demoHosts lets calls go to the stand-ins.
func demoHosts(addresses ...string) (providers.AllowedHosts, error) {
	hosts := make([]string, len(addresses))
	for i, address := range addresses {
		at, err := url.Parse(address)
		if err != nil {
			return providers.AllowedHosts{}, err
		}
		hosts[i] = at.Host
	}
	return providers.ParseAllowedHosts(strings.Join(hosts, ","))
}
