package booking

import (
	"time"
)

// Introduce makes the resources of hosts that an account is told to have, as their
// first booking would, and lets sessions that stood without one claim their
// places. A host without an e-mail stays without a resource until somebody maps
// it. st must hold what Decide needs for an event that names the hosts.
func Introduce(st *State, source Source, hosts []Host, actor Actor, now time.Time) Changes {
	t := newDecision(st, actor, now)
	t.event.Source = source
	for _, h := range hosts {
		t.learn(h)
	}
	t.settle()
	t.writeTransitions()
	t.keep()
	return t.changes(nil)
}
