package web

import (
	_ "embed"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// The names that people choose from: the canonical zones of the time zone
// database. Links and old names work too where a query names them.
//
//go:embed zones.txt
var zoneNames string

// option of a select.
type option struct {
	Value string
	Label string
}

// zoneGroup is a region's zones.
type zoneGroup struct {
	Region string
	Zones  []option
}

// zoneGroups are all zones by region, with the chosen one among them even when
// the list has it under another name.
func zoneGroups(chosen string) []zoneGroup {
	groups := allZones()
	if chosen == "" || chosen == "UTC" || strings.Contains("\n"+zoneNames, "\n"+chosen+"\n") {
		return groups
	}
	groups = slices.Clone(groups)
	groups[0].Zones = append(slices.Clone(groups[0].Zones), option{Value: chosen, Label: chosen})
	return groups
}

// allZones are put in order once: every page that lets people choose has them.
var allZones = sync.OnceValue(func() []zoneGroup {
	groups := []zoneGroup{{Region: "UTC", Zones: []option{{Value: "UTC", Label: "UTC"}}}}
	place := strings.NewReplacer("_", " ", "/", " – ")
	for name := range strings.Lines(zoneNames) {
		name = strings.TrimSpace(name)
		region, within, found := strings.Cut(name, "/")
		if !found {
			continue
		}
		if groups[len(groups)-1].Region != region {
			groups = append(groups, zoneGroup{Region: region})
		}
		last := &groups[len(groups)-1]
		last.Zones = append(last.Zones, option{Value: name, Label: place.Replace(within)})
	}
	return groups
})

var errZoneUnknown = errors.New("that time zone does not exist")

// loadZone finds a zone by its IANA name. "Local" is none: it would be the
// server's.
func loadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, errZoneUnknown
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errZoneUnknown
	}
	return zone, nil
}

// NamedZone is the zone under its IANA name. The machine's own zone is called Local
// when it was read from /etc/localtime, which is a link to the zone's file; when
// that says nothing it is UTC, since nobody could be told which zone it is.
func NamedZone(zone *time.Location) *time.Location {
	if zone.String() != "Local" {
		return zone
	}
	file, err := os.Readlink("/etc/localtime")
	if err != nil {
		return time.UTC
	}
	_, name, _ := strings.Cut(file, "zoneinfo/")
	name = strings.TrimPrefix(name, "Etc/") // UTC needs no region
	if zone, err = loadZone(name); err != nil {
		return time.UTC
	}
	return zone
}
