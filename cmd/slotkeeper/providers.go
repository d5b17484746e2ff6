package main

import (
	"maps"
	"slices"
	"time"

	"slotkeeper/providers"
	"slotkeeper/providers/acuity"
	"slotkeeper/providers/calcom"
	"slotkeeper/providers/calendly"
	"slotkeeper/providers/generic"
)

// adapters is the one list of providers: a new one is added here.
func adapters(cfg *config) map[string]providers.Provider {
	all := map[string]providers.Provider{}
	for _, p := range []providers.Provider{
		calendly.New(cfg.CalendlyTolerance),
		calcom.New(),
		acuity.New(func() time.Time { return time.Now().UTC() }, providers.Tempo(cfg.Tempo)),
		generic.New(),
	} {
		all[p.Name()] = p
	}
	return all
}

// providerNames are those of all adapters, sorted.
func (c *cli) providerNames() []string {
	return slices.Sorted(maps.Keys(adapters(&c.cfg)))
}
