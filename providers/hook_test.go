package providers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"slotkeeper/providers"
)

var needs = []providers.HookKind{
	{Name: "created", Of: providers.TopicBooked},
	{Name: "canceled", Of: providers.TopicCanceled},
	{Name: "uncanceled", Of: providers.TopicCanceled},
	{Name: "absent", Of: providers.TopicAbsence, Newer: true},
}

// A webhook that tells of some things only looks like one that tells of all: whoever
// asked only whether what is listed is active would never hear of a cancellation again.
func TestStateOfHooks(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	all := []string{"created", "canceled", "uncanceled", "absent"}
	on := func(kinds ...string) providers.Hook { return providers.Hook{ID: "1", Active: true, Kinds: kinds} }
	with := func(h providers.Hook, change func(h *providers.Hook)) providers.Hook { change(&h); return h }
	off := with(on(all...), func(h *providers.Hook) { h.Active = false })
	for name, tt := range map[string]struct {
		hooks         []providers.Hook
		want          providers.HookTrouble
		missing       []string
		whole, posted bool
	}{
		"one for all":               {hooks: []providers.Hook{on(all...)}, whole: true, posted: true},
		"one for each":              {hooks: []providers.Hook{on("created"), on("canceled"), on("uncanceled"), on("absent")}, whole: true, posted: true},
		"with more":                 {hooks: []providers.Hook{on(append(slices.Clone(all), "paid")...)}, whole: true, posted: true},
		"none":                      {want: providers.HookGone},
		"switched off":              {hooks: []providers.Hook{off}, want: providers.HookOff, missing: all},
		"one of each is gone":       {hooks: []providers.Hook{on("created"), on("uncanceled"), on("absent")}, want: providers.HookNarrowed, missing: []string{"canceled"}},
		"narrowed":                  {hooks: []providers.Hook{on("created")}, want: providers.HookNarrowed, missing: all[1:]},
		"one of each is off":        {hooks: []providers.Hook{on("created"), on("uncanceled", "absent"), with(on("canceled"), func(h *providers.Hook) { h.Active = false })}, want: providers.HookNarrowed, missing: []string{"canceled"}},
		"a second is off":           {hooks: []providers.Hook{on(all...), off}, want: providers.HookPartlyOff},
		"another's secret":          {hooks: []providers.Hook{with(on(all...), func(h *providers.Hook) { h.Foreign = true })}, want: providers.HookForeign},
		"a template":                {hooks: []providers.Hook{with(on(all...), func(h *providers.Hook) { h.Templated = true })}, want: providers.HookTemplated},
		"an old version":            {hooks: []providers.Hook{on("created", "canceled", "uncanceled")}, want: providers.HookDated, missing: []string{"absent"}, posted: true},
		"posts that fail":           {hooks: []providers.Hook{with(on(all...), func(h *providers.Hook) { h.FailingSince = &since })}, want: providers.HookFailing, whole: true, posted: true},
		"failing, and switched off": {hooks: []providers.Hook{with(off, func(h *providers.Hook) { h.FailingSince = &since })}, want: providers.HookOff, missing: all},
	} {
		s := providers.StateOfHooks(needs, tt.hooks)
		var missing []string
		for _, k := range s.Missing {
			missing = append(missing, k.Name)
		}
		if s.Trouble != tt.want || !slices.Equal(missing, tt.missing) || s.Whole() != tt.whole || s.Posted() != tt.posted {
			t.Errorf("%s: %q, missing %q, whole %t, posted %t", name, s.Trouble, missing, s.Whole(), s.Posted())
		}
		if s.Trouble == providers.HookNarrowed && !strings.Contains(s.String(), tt.missing[0]) {
			t.Errorf("%s: %q does not name what is missing", name, s)
		}
		kept := providers.HookStateIn(fmt.Sprintf("%s: %v", s, errors.New("the API answered 403: no: not now")), needs)
		if tt.want != "" && tt.want != providers.HookOff && !kept.Same(s) || kept.Trouble != s.Trouble {
			t.Errorf("%s: kept as a text it is %+v, want %+v", name, kept, s)
		}
	}
	if s := providers.HookStateIn("the API answered 403: our webhook is gone", needs); s.Trouble != "" {
		t.Errorf("what a provider says is taken for ours: %+v", s)
	}
}
