package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"slotkeeper/booking"
)

// keepTexts are the periods of retention as they were typed.
type keepTexts struct{ bodies, deliveries, reads, alerts, messages string }

func (k *keepTexts) bind(f *pflag.FlagSet, env func(name, otherwise string) string) {
	for _, s := range []struct {
		into              *string
		flag, name, usage string
		otherwise         time.Duration
	}{
		{&k.bodies, "keep-bodies", "KEEP_BODIES", "how long raw bodies of settled receipts are kept, like 90d, or forever", booking.KeepBodies},
		{&k.deliveries, "keep-deliveries", "KEEP_DELIVERIES", "how long is kept when each copy of a settled receipt came", booking.KeepDeliveries},
		{&k.reads, "keep-reads", "KEEP_READS", "how long is kept what imports, comparisons and replays found", booking.KeepReads},
		{&k.alerts, "keep-alerts", "KEEP_ALERTS", "how long alerts are kept that are over", booking.KeepAlerts},
		{&k.messages, "keep-messages", "KEEP_MESSAGES", "how long is kept what other systems were told by webhook", booking.KeepMessages},
	} {
		otherwise := strconv.Itoa(int(s.otherwise/(24*time.Hour))) + "d"
		f.StringVar(s.into, s.flag, env(s.name, otherwise), s.usage+" (SLOTKEEPER_"+s.name+")")
	}
}

// parse understands the periods, and refuses those that are too short.
func (k *keepTexts) parse() (booking.Keep, error) {
	var out booking.Keep
	var errs []error
	for _, s := range []struct {
		name, text string
		least      time.Duration
		into       *time.Duration
	}{
		{"KEEP_BODIES", k.bodies, booking.LeastBodies, &out.Bodies},
		{"KEEP_DELIVERIES", k.deliveries, booking.LeastDeliveries, &out.Deliveries},
		{"KEEP_READS", k.reads, booking.LeastReads, &out.Reads},
		{"KEEP_ALERTS", k.alerts, booking.LeastAlerts, &out.Alerts},
		{"KEEP_MESSAGES", k.messages, booking.LeastMessages, &out.Messages},
	} {
		if s.text == "forever" {
			continue
		}
		days, ok := strings.CutSuffix(s.text, "d")
		n, err := strconv.Atoi(days)
		const most = 36_500
		least := int(s.least / (24 * time.Hour))
		if !ok || err != nil || n < least || n > most {
			errs = append(errs, fmt.Errorf("SLOTKEEPER_%s: %q is not a number of days from %dd to %dd, or forever", s.name, s.text, least, most))
			continue
		}
		*s.into = time.Duration(n) * 24 * time.Hour
	}
	return out, errors.Join(errs...)
}
