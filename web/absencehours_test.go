package web_test

import (
	"slices"
	"testing"

	"slotkeeper/booking/access"
)

// A whole day off reads as that, and not as from midnight to midnight, which looks
// like no time at all.
func TestWholeDaysOff(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		from, to string
		query    string
		lang     string
		want     []string
	}{
		"one":            {"2026-11-29T17:00:00Z", "2026-11-30T17:00:00Z", "", "en", []string{"⊘ Unavailable all day Ayu Lestari · Cal.com"}},
		"Indonesian":     {"2026-11-29T17:00:00Z", "2026-11-30T17:00:00Z", "", "id", []string{"⊘ Tidak tersedia sepanjang hari Ayu Lestari · Cal.com"}},
		"until a minute": {"2026-11-29T17:00:00Z", "2026-11-30T16:59:00Z", "", "en", []string{"⊘ Unavailable all day Ayu Lestari · Cal.com"}},
		"two": {"2026-11-29T17:00:00Z", "2026-12-01T17:00:00Z", "", "en", []string{
			"⊘ Unavailable Mon 30 Nov – Tue 1 Dec, all day Ayu Lestari · Cal.com", "⊘ Unavailable Mon 30 Nov – Tue 1 Dec, all day Ayu Lestari · Cal.com",
		}},
		"with the clock put back": {"2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z", "date=2026-10-25&zone=Europe/Berlin", "en", []string{
			"⊘ Unavailable all day Ayu Lestari · Cal.com",
		}},
		"a day of another zone": {"2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z", "", "en", []string{
			"⊘ Unavailable 07:00 – Tue 1 Dec 07:00 Ayu Lestari · Cal.com", "⊘ Unavailable Mon 30 Nov 07:00 – 07:00 Ayu Lestari · Cal.com",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, away(t, "2026-11-30T07:00:00Z", "2026-11-30T07:30:00Z", tt.from, tt.to), nil)
			page := w.get(t, w.user(t, "ayu", access.Viewer), "/calendar?"+tt.query, "Accept-Language", tt.lang)
			wholesome(t, page, tt.lang)
			if got := shows(t, page, "off"); !slices.Equal(got, tt.want) {
				t.Errorf("it shows %q, want %q", got, tt.want)
			}
		})
	}
}
