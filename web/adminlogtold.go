package web

import (
	"cmp"
	"strings"
	"time"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// subjectMark is where a sentence has what an entry is about.
const subjectMark = "\x00"

// tell says in a sentence what an entry tells of. An action that has none, of a newer
// version for instance, stands under its own name.
func (r *adminLogRow) tell(l *language, actors map[booking.Actor]string) {
	who := cmp.Or(actors[r.Actor], l.actor(r.Actor))
	if r.Actor == booking.ActorSystem {
		who = l.t("adminlog.system") // it begins the sentence
	}
	key := "did." + r.Action
	if !l.has(key) {
		r.Before, r.After, r.Named = who+": "+r.Action+" ", "", true
		return
	}
	if r.Detail["dry_run"] == "true" {
		switch r.Action {
		case access.DidReplay:
			key = "did.replay.previewed"
		case access.DidStopReplay:
			key = "did.replay.preview_stopped"
		}
	}
	if r.Subject.Name == "" {
		r.Subject.Name = cmp.Or(r.Detail["name"], l.unnamed(r.Action, r.Detail))
	}
	r.Before, r.After, r.Named = strings.Cut(l.t(key, "Who", who, "What", subjectMark), subjectMark)
}

// says tells whether the sentence has a fact already.
func (r *adminLogRow) says(name access.Fact, value string) bool {
	switch name {
	case "name":
		return r.Named && value == r.Subject.Name
	case "dry_run":
		return r.Action == access.DidReplay || r.Action == access.DidStopReplay
	}
	return false
}

// unnamed is what an entry is about that has no name.
func (l *language) unnamed(action string, detail access.Facts) string {
	switch action {
	case access.DidFailSignIn:
		return l.t("signed.failed.unknown_name")
	case access.DidMakeLink:
		return l.named("purpose", detail["purpose"])
	case access.DidReplay, access.DidStopReplay:
		return l.t("what.replay")
	case access.DidFailConnect:
		return l.named("provider", detail["provider"])
	}
	return l.t("what.unnamed")
}

// ofEffect tells whether an action is about something that was asked for.
func ofEffect(action string) bool {
	return action == access.DidRetryEffect || action == access.DidWithdrawEffect
}

// factName is the end of the key of what a fact is called: a kind is that of a delivery
// mostly.
func factName(action string, name access.Fact) string {
	if name == "kind" && ofEffect(action) {
		return "asked"
	}
	return string(name)
}

// factValue is a fact's value in the viewer's words; "" for what tells a person
// nothing.
func factValue(action string, name access.Fact, value string, who viewer, names names, actors map[booking.Actor]string) string {
	l := who.language
	switch name {
	case "run", "effect":
		return "" // ids that stand on no page
	case "reason":
		if action == access.DidFailSignIn {
			return l.named("signed.failed", strings.ReplaceAll(value, " ", "_"))
		}
		if action == access.DidFailConnect {
			return l.named("trouble", value)
		}
		return l.named("reason", value)
	case "kind":
		switch {
		case action == access.DidStopRun:
			return l.named("run.kind", value)
		case ofEffect(action):
			return l.named("asked", value)
		}
		return l.named("kind", value)
	case "because":
		return l.named("because", strings.ReplaceAll(value, " ", "_"))
	case "status":
		return l.listed("receipt", value)
	case "receipts":
		return strings.Join(listedIn(value), ", ")
	case "found":
		if key := "found." + value; l.has(key) {
			return l.t(key)
		}
		return l.named("trouble", value)
	case "from", "to":
		if t, err := time.Parse(time.RFC3339Nano, value); err == nil {
			return l.dates.stamp(t.In(who.zone))
		}
		return l.named("role", value) // of a change of role
	case "text":
		if value == "given" {
			return l.t("fact.text.given")
		}
	case "connection", "connection_id", "resource", "resource_id", "resources", "into":
		return names.ofIDs(value)
	case "first_by":
		all := strings.Fields(value)
		for i, a := range all {
			all[i] = l.actorName(booking.Actor(a), actors)
		}
		return strings.Join(all, ", ")
	case "actor":
		return l.actorName(booking.Actor(value), actors)
	}
	if set := factSets[name]; set != "" {
		return l.named(set, value)
	}
	switch value {
	case "true":
		return l.t("fact.yes")
	case "false":
		return l.t("fact.no")
	}
	return value
}

// factSets are the sets of which facts are.
var factSets = map[access.Fact]string{
	"role": "role", "provider": "provider", "outcome": "outcome", "with": "signed", "purpose": "purpose", "webhook": "notices", "scope": "scope",
	"show": "audit.show", "failed_at": "hop", "event": "told", "level": "feeds.level", "action": "deed",
}

// listedIn are the values of a fact that has several.
func listedIn(value string) []string { return strings.Fields(strings.Trim(value, "[]")) }

// listed names each of the values of a fact that has several.
func (l *language) listed(set, value string) string {
	all := listedIn(value)
	for i, v := range all {
		all[i] = l.named(set, v)
	}
	return strings.Join(all, ", ")
}

// ofIDs are the names behind ids of resources or connections; an id stays where it
// has none any more.
func (n names) ofIDs(text string) string {
	all := strings.Fields(text)
	for i, word := range all {
		if id, err := parseID(word); err == nil {
			all[i] = cmp.Or(n.resource[id], n.connection[id], word)
		}
	}
	return strings.Join(all, ", ")
}
