package providers

import (
	"sync"
	"time"

	// Old aliases are in the wild (Asia/Calcutta), and systems leave them out or
	// have no zones at all: a booking must not fail for the machine it meets.
	_ "time/tzdata"
)

// knownZones remembers the zones that exist, a set that cannot grow past the
// IANA database; looking one up reads a file.
var knownZones sync.Map

func zoneExists(name string) bool {
	if name == "Local" || len(name) > MaxID {
		return false // time.LoadLocation would answer with the server's own zone
	}
	if _, ok := knownZones.Load(name); ok {
		return true
	}
	if _, err := time.LoadLocation(name); err != nil {
		return false
	}
	knownZones.Store(name, struct{}{})
	return true
}
