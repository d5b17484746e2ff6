package account_test

import (
	"errors"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/booking/account"
	"slotkeeper/providers"
)

// based is a provider with a base of its own, or none.
type based struct {
	providers.Provider
	base string
}

func (b based) Name() string    { return "calcom" }
func (b based) APIBase() string { return b.base }

func TestBase(t *testing.T) {
	t.Parallel()
	hosted := based{base: "https://api.cal.com/v2"}
	for raw, want := range map[string]string{
		"":                               "https://api.cal.com/v2",
		"  ":                             "https://api.cal.com/v2",
		"https://cal.example.org":        "https://cal.example.org",
		" https://CAL.example.org/V2// ": "https://cal.example.org/V2",
		"http://cal.local:3000/api/v2#x": "http://cal.local:3000/api/v2",
		"https://api.cal.com:443/v2":     "https://api.cal.com/v2",
		"https://api.cal.com:0443/v2/":   "https://api.cal.com/v2",
		"https://api.cal.com./x/../v2":   "https://api.cal.com/v2",
		"http://[::ffff:127.0.0.1]:80/":  "http://127.0.0.1",
		"http://[::1]:8443/v2":           "http://[::1]:8443/v2",
	} {
		if got, err := account.Base(hosted, raw); err != nil || got != want {
			t.Errorf("%q is %q, %v", raw, got, err)
		}
	}
	var invalid *booking.InvalidError
	for _, raw := range []string{"cal.example.org", "ftp://cal.example.org", "https://", "https://u:p@cal.example.org", "https://cal.example.org/?key=x", "https://[::1"} {
		if got, err := account.Base(hosted, raw); !errors.As(err, &invalid) || invalid.Field != "api_url" {
			t.Errorf("%q is %q, %v", raw, got, err)
		}
	}
	if got, err := account.Base(based{}, ""); got != "" || err != nil {
		t.Errorf("a provider without an API has %q, %v", got, err)
	}
	if _, err := account.Base(based{}, "https://x.example"); !errors.As(err, &invalid) {
		t.Errorf("a provider without an API takes one: %v", err)
	}
}
