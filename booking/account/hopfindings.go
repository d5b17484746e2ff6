package account

// HopFinding is what a hop of a selftest found, in a word. Pages have a sentence for
// each, which also says what to do about what is not as it should be.
type HopFinding string

// The findings, in the order of the hops.
const (
	FoundAddress         HopFinding = "address"
	FoundPrivate         HopFinding = "private" // passes, but nobody outside gets there
	FoundIP              HopFinding = "ip"      // the URL has an address and no name
	FoundPrivateIP       HopFinding = "private_ip"
	FoundNoAddress       HopFinding = "no_address"
	FoundConnected       HopFinding = "connected"
	FoundPlain           HopFinding = "plain" // passes, without TLS
	FoundNobody          HopFinding = "nobody"
	FoundNoWay           HopFinding = "no_way"
	FoundCertificate     HopFinding = "certificate"
	FoundCertificateEnds HopFinding = "certificate_ends" // passes, and not for long
	FoundBadCertificate  HopFinding = "bad_certificate"
	FoundPosted          HopFinding = "posted"
	FoundNoPost          HopFinding = "no_post"
	FoundTaken           HopFinding = "taken"
	FoundNotOurs         HopFinding = "not_ours"
	FoundRedirect        HopFinding = "redirect"
	FoundUnknownThere    HopFinding = "unknown_there"
	FoundUnsigned        HopFinding = "unsigned"
	FoundAltered         HopFinding = "altered"
	FoundClocks          HopFinding = "clocks"
	FoundLimited         HopFinding = "limited"
	FoundRefused         HopFinding = "refused"
	FoundStored          HopFinding = "stored"
	FoundStoredOtherwise HopFinding = "stored_otherwise"
	FoundNoDatabase      HopFinding = "no_database"
	FoundOtherDatabase   HopFinding = "other_database"
	FoundAccepted        HopFinding = "accepted"
	FoundTrouble         HopFinding = "trouble" // Values has the Cause
	FoundHook            HopFinding = "hook"
	FoundHookByHand      HopFinding = "hook_by_hand"
	FoundNoHook          HopFinding = "no_hook"
	FoundHookOff         HopFinding = "hook_off"
	FoundHookPartly      HopFinding = "hook_partly_off"
	FoundHookForeign     HopFinding = "hook_secret"
	FoundHookTemplated   HopFinding = "hook_template"
	FoundHookNarrowed    HopFinding = "hook_kinds"   // Values has the topics
	FoundHookDated       HopFinding = "hook_dated"   // passes, without those topics
	FoundHookFailing     HopFinding = "hook_failing" // passes, and posts do not
)

// HopTopics names the value that is a list of providers.Topic.
const HopTopics = "Topics"

// found notes what was found, with name, value, … of what its sentence needs. What is
// found later in a step is meant.
func (h *Hop) found(what HopFinding, pairs ...string) {
	h.Found, h.Values = what, map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Values[pairs[i]] = pairs[i+1]
	}
}

// Mind tells of a hop that passed, and of which somebody should think.
func (h Hop) Mind() bool {
	switch h.Found { //nolint:exhaustive // of the others there is nothing to think
	case FoundPrivate, FoundPrivateIP, FoundPlain, FoundCertificateEnds, FoundHookDated, FoundHookFailing:
		return h.OK
	}
	return false
}
