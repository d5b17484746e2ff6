package providertest

import (
	"bytes"
	"testing"
	"time"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// selftest: a signed selftest is proven as the provider's posts are, is ignored,
// and is one event for each id, however often it is sent.
func selftest(t *testing.T, p providers.Provider) {
	t.Helper()
	const secret = "a-secret-of-the-suite"
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	seen := map[string]string{}
	for _, id := range []string{"1", "2", "0190a2b4-0000-7000-8000-000000000000", `a "quoted" & odd=one`} {
		body := p.Selftest(id)
		if !bytes.Equal(body, p.Selftest(id)) {
			t.Errorf("%q has two bodies", id)
		}
		r := providers.Request{Header: p.Sign(body, secret, now), Body: body}
		if by, err := p.Verify(r, providers.Secrets{Current: secret}, now); by != providers.ByCurrent || err != nil {
			t.Errorf("%q is verified by %q (%v)", id, by, err)
		}
		d := p.Parse(r, Origin(p))
		CheckDelivery(t, d)
		if d.Kind != booking.KindSelftest || d.Status != booking.StatusIgnored {
			t.Errorf("%q is a %s %s", id, d.Status, d.Kind)
		}
		if other, known := seen[d.EventKey]; known {
			t.Errorf("%q and %q are one event", other, id)
		}
		seen[d.EventKey] = id
	}
}
