package main

import (
	"slotkeeper/providers"
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
		generic.New(),
	} {
		all[p.Name()] = p
	}
	return all
}
