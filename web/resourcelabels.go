package web

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// resourceLabels are what resources are called wherever one is chosen or told from
// others: by its name, and where several share it, with what only that one has: its
// provider, else its account, its e-mail, the provider's name of it, or its id. Without,
// somebody would be let see the wrong Room 2.
func resourceLabels(all []booking.ResourceView, accounts []providers.Connection, l *language) map[uuid.UUID]string {
	out := make(map[uuid.UUID]string, len(all))
	byName := map[string][]booking.ResourceView{}
	for _, r := range all {
		out[r.ID] = r.Name
		name := strings.ToLower(strings.TrimSpace(r.Name))
		byName[name] = append(byName[name], r)
	}
	for _, same := range byName {
		if len(same) == 1 {
			continue
		}
		marks := make([][]string, len(same))
		of := map[string]int{} // how many of them have a mark
		for i, r := range same {
			marks[i] = marksOf(r, accounts, l)
			for _, mark := range marks[i] {
				of[mark]++
			}
		}
		for i, r := range same {
			mark := r.ID.String()
			if own := slices.IndexFunc(marks[i], func(m string) bool { return of[m] == 1 }); own >= 0 {
				mark = marks[i][own]
			}
			out[r.ID] = r.Name + nb + "· " + mark
		}
	}
	return out
}

// marksOf is what a resource may be told by from others, the plainest first and none
// twice.
func marksOf(r booking.ResourceView, accounts []providers.Connection, l *language) []string {
	var mails, kinds, names, ids []string
	for _, i := range r.Identities {
		if i.Email != "" {
			mails = append(mails, i.Email)
		}
		if i.Source.Provider == "" {
			continue
		}
		kinds, ids = append(kinds, l.named("provider", i.Source.Provider)), append(ids, i.ExternalID)
		for _, c := range accounts {
			if c.Source() == i.Source && tellsOf(accounts, c, r) {
				names = append(names, c.Name)
			}
		}
	}
	var out []string
	for _, some := range [][]string{kinds, names, mails, ids} {
		slices.Sort(some)
		for _, mark := range some {
			if !slices.Contains(out, mark) {
				out = append(out, mark)
			}
		}
	}
	return out
}

// resourceBoxes are all resources to tick, by label.
func (n names) resourceBoxes(chosen []uuid.UUID) []choiceBox {
	out := make([]choiceBox, len(n.resources))
	for i, o := range n.resources {
		out[i] = choiceBox{o, slices.ContainsFunc(chosen, func(id uuid.UUID) bool { return id.String() == o.Value })}
	}
	return out
}

// plainNames are the names of resources as they are, for what is kept outside: a name
// there must not change when another resource comes to be called so, nor tell an e-mail.
func plainNames(all []booking.ResourceView) map[uuid.UUID]string {
	out := make(map[uuid.UUID]string, len(all))
	for _, r := range all {
		out[r.ID] = r.Name
	}
	return out
}
