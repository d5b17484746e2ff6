package providers

import (
	"slices"
	"strings"
	"time"
)

// Hook is a registration of a webhook at a provider.
type Hook struct {
	// ID at the provider.
	ID string
	// Active says that the provider posts to it.
	Active bool
	// Since when posts fail, as far as the provider tells; nil for not. The provider
	// switches the hook off when that lasts a day.
	FailingSince *time.Time
	// Kinds are the provider's names of the events it is for.
	Kinds []string
	// Foreign says that it signs with a secret that the connection does not accept,
	// Templated that its bodies are of somebody's own making, which nobody can read:
	// as far as the provider tells.
	Foreign, Templated bool
}

// Topic is what an event tells of, in a word. Pages have a text for each.
type Topic string

// The topics.
const (
	TopicBooked    Topic = "booked"
	TopicRequested Topic = "requested"
	TopicMoved     Topic = "moved"
	TopicCanceled  Topic = "canceled"
	TopicDeclined  Topic = "declined"
	TopicChanged   Topic = "changed"
	TopicUnpaid    Topic = "unpaid"
	TopicNoShow    Topic = "no_show"
	TopicAbsence   Topic = "absence"
)

// HookKind is an event that we have posted.
type HookKind struct {
	Name string // the provider's
	Of   Topic
	// Newer says that some versions of the provider do not know it.
	Newer bool
}

// HookTrouble is what is the matter with our webhook at a provider, in a word.
type HookTrouble string

// The troubles, the worst first. With the last two it is posted to, and nothing that
// every version of the provider knows is missing.
const (
	HookGone      HookTrouble = "gone"
	HookOff       HookTrouble = "off"
	HookForeign   HookTrouble = "secret"
	HookTemplated HookTrouble = "template"
	HookNarrowed  HookTrouble = "kinds"
	HookPartlyOff HookTrouble = "partly_off"
	HookDated     HookTrouble = "dated"
	HookFailing   HookTrouble = "failing"
)

// HookTroubles are all of them.
func HookTroubles() []HookTrouble {
	return []HookTrouble{HookGone, HookOff, HookForeign, HookTemplated, HookNarrowed, HookPartlyOff, HookDated, HookFailing}
}

// HookState is how our webhook is at a provider.
type HookState struct {
	// Trouble is the worst that is the matter; "" when the webhook is whole.
	Trouble HookTrouble
	// Missing are the events that are not posted.
	Missing []HookKind
	// FailingSince is since when posts fail; nil for not.
	FailingSince *time.Time
}

// StateOfHooks judges the registrations for our URL by the events that we need. It
// asks whether all of ours stand, not whether those that are listed do: of four hooks
// for one event each the fourth may have been removed.
func StateOfHooks(needs []HookKind, hooks []Hook) HookState {
	if len(hooks) == 0 {
		return HookState{Trouble: HookGone}
	}
	var s HookState
	var active, off, foreign, templated bool
	posted := map[string]bool{}
	for _, h := range hooks {
		if !h.Active {
			off = true
			continue
		}
		active, foreign, templated = true, foreign || h.Foreign, templated || h.Templated
		for _, k := range h.Kinds {
			posted[k] = true
		}
		if h.FailingSince != nil && (s.FailingSince == nil || h.FailingSince.Before(*s.FailingSince)) {
			s.FailingSince = h.FailingSince
		}
	}
	dated := true
	for _, k := range needs {
		if !posted[k.Name] {
			s.Missing = append(s.Missing, k)
			dated = dated && k.Newer
		}
	}
	switch {
	case !active:
		s.Trouble = HookOff
	case foreign:
		s.Trouble = HookForeign
	case templated:
		s.Trouble = HookTemplated
	case len(s.Missing) > 0 && !dated:
		s.Trouble = HookNarrowed
	case off:
		s.Trouble = HookPartlyOff
	case len(s.Missing) > 0:
		s.Trouble = HookDated
	case s.FailingSince != nil:
		s.Trouble = HookFailing
	}
	return s
}

// Whole tells whether nothing of our webhook is to be made anew. That posts fail is
// mended here, and not there.
func (s HookState) Whole() bool { return s.Trouble == "" || s.Trouble == HookFailing }

// Posted tells whether the provider posts all that any version of it does.
func (s HookState) Posted() bool { return s.Whole() || s.Trouble == HookDated }

// Same tells whether the same is the matter with both.
func (s HookState) Same(o HookState) bool {
	return s.Trouble == o.Trouble && slices.Equal(s.Missing, o.Missing)
}

// hookTexts are what a state says of itself, in English. Rows keep the text of an
// error that begins with one; HookStateIn finds it again.
var hookTexts = map[HookTrouble]string{
	HookGone:      "our webhook is gone",
	HookOff:       "our webhook is switched off",
	HookForeign:   "our webhook signs with another secret",
	HookTemplated: "our webhook has a payload template",
	HookNarrowed:  "our webhook does not tell of ",
	HookPartlyOff: "a part of our webhook is switched off",
	HookDated:     "this version may not know ",
	HookFailing:   "posts to our webhook fail",
}

func (s HookState) String() string {
	text := hookTexts[s.Trouble]
	switch s.Trouble {
	case "":
		return "our webhook is whole"
	case HookNarrowed, HookDated:
		names := make([]string, len(s.Missing))
		for i, k := range s.Missing {
			names[i] = k.Name
		}
		return text + strings.Join(names, ", ")
	case HookFailing:
		if s.FailingSince != nil {
			text += " since " + s.FailingSince.UTC().Format(time.RFC3339)
		}
		return text + ", and the provider switches it off when that lasts a day"
	case HookGone, HookOff, HookForeign, HookTemplated, HookPartlyOff:
	}
	return text
}

// HookStateIn finds the state that a kept text begins with; needs are the events
// that its provider has.
func HookStateIn(text string, needs []HookKind) HookState {
	for trouble, of := range hookTexts {
		rest, found := strings.CutPrefix(text, of)
		if !found {
			continue
		}
		s := HookState{Trouble: trouble}
		if trouble == HookNarrowed || trouble == HookDated {
			names, _, _ := strings.Cut(rest, ":")
			for name := range strings.SplitSeq(names, ", ") {
				if i := slices.IndexFunc(needs, func(k HookKind) bool { return k.Name == name }); i >= 0 {
					s.Missing = append(s.Missing, needs[i])
				}
			}
		}
		return s
	}
	return HookState{}
}

// Topics are what the missing events tell of, each once.
func (s HookState) Topics() []Topic {
	var out []Topic
	for _, k := range s.Missing {
		if !slices.Contains(out, k.Of) {
			out = append(out, k.Of)
		}
	}
	return out
}
