package web_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
)

// Wherever a conflict is shown it says in a sentence why the one holds what the other
// waits for, and what whoever reads it can do.
func TestWhyHeldIsTold(t *testing.T) {
	t.Parallel()
	came := func(seq int64, event booking.Action, from booking.Status, ago time.Duration) booking.Arrival {
		return booking.Arrival{Seq: seq, Event: event, From: from, Actor: booking.ActorWebhook, At: noon.Add(-ago)}
	}
	const early, late = 2 * time.Hour, time.Hour
	tests := map[string]struct {
		held, waits     booking.Arrival
		bookedLater     bool
		full            bool
		group           bool
		english, indone string
	}{
		"first": {
			held: came(1, booking.Create, booking.New, early), waits: came(2, booking.Create, booking.New, late),
			english: "The holder arrived first, 30 Nov 2026, 10:00 WIB; the waiting booking 30 Nov 2026, 11:00 WIB.",
			indone:  "Pemegang slot tiba lebih dulu, 30 Nov 2026, 10.00 WIB; yang menunggu 30 Nov 2026, 11.00 WIB.",
		},
		"within one minute": {
			held: came(1, booking.Create, booking.New, early), waits: came(2, booking.Create, booking.New, early-time.Second),
			english: "They arrived in the same minute, 30 Nov 2026, 10:00 WIB; the one holding the slot came first.",
			indone:  "Tiba dalam menit yang sama, 30 Nov 2026, 10.00 WIB; pemegang slot lebih dulu.",
		},
		"within one minute, booked later": {
			held: came(1, booking.Create, booking.New, early), waits: came(2, booking.Create, booking.New, early-time.Second), bookedLater: true,
			english: "They arrived in the same minute, 30 Nov 2026, 10:00 WIB; the one holding the slot was booked later", indone: "Tiba dalam menit yang sama, 30 Nov 2026, 10.00 WIB; pemegang slot dipesan belakangan",
		},
		"booked later": {
			held: came(1, booking.Create, booking.New, early), waits: came(2, booking.Create, booking.New, late), bookedLater: true,
			english: "The holder was booked later, but arrived first, 30 Nov 2026, 10:00 WIB; the waiting booking 30 Nov 2026, 11:00 WIB.",
			indone:  "Pemegang slot dipesan belakangan, tetapi tiba lebih dulu, 30 Nov 2026, 10.00 WIB; yang menunggu 30 Nov 2026, 11.00 WIB.",
		},
		"a request": {
			held: came(1, booking.Create, booking.New, early), waits: came(2, booking.Create, booking.Pending, late),
			english: "The holder was confirmed first. Until 30 Nov 2026, 11:00 WIB the waiting booking was a request", indone: "Pemegang slot dikonfirmasi lebih dulu. Sampai 30 Nov 2026, 11.00 WIB",
		},
		"moved in": {
			held: came(1, booking.Create, booking.New, early), waits: came(2, booking.Move, booking.Active, late),
			english: "The waiting booking was moved here 30 Nov 2026, 11:00 WIB; the holder was here already.", indone: "Yang menunggu dipindahkan ke sini 30 Nov 2026, 11.00 WIB; pemegang slot sudah ada.",
		},
		"let in": {
			held: came(2, booking.Release, booking.Conflicted, late), waits: came(1, booking.Create, booking.New, early),
			english: "The slot became free 30 Nov 2026, 11:00 WIB; the holder was first in line", indone: "Slot kosong 30 Nov 2026, 11.00 WIB; pemegangnya berada di urutan pertama",
		},
		"came to a free place": {
			held: came(2, booking.Create, booking.New, late), waits: came(1, booking.Create, booking.New, early),
			english: "The holder arrived 30 Nov 2026, 11:00 WIB, when nobody held its time.", indone: "Pemegang slot tiba 30 Nov 2026, 11.00 WIB, ketika waktunya tidak dipegang siapa pun",
		},
		"moved to a free place": {
			held: came(2, booking.Move, booking.Active, late), waits: came(1, booking.Create, booking.New, early),
			english: "The holder was moved here 30 Nov 2026, 11:00 WIB, when nobody else held its time", indone: "Pemegang slot dipindahkan ke sini 30 Nov 2026, 11.00 WIB",
		},
		"no seat": {full: true, english: "Every seat is taken, and seats go to those who booked first.", indone: "Semua kursi terisi"},
		"a group": {
			held: came(2, booking.Create, booking.New, late), waits: came(1, booking.Create, booking.New, early), group: true,
			english: "The meeting held the slot already", indone: "Pertemuannya sudah memegang slot ini",
		},
		"not known": {},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, o := quarrels(t)
			o.arrivals = map[uuid.UUID]booking.Arrival{id(21): tt.held, id(22): tt.waits}
			seats, before, after := 8, noon.Add(-9*time.Hour), noon.Add(-8*time.Hour)
			for i := range o.records.bookings {
				b := &o.records.bookings[i]
				switch b.ID {
				case id(21):
					b.BookedAt = &before
					if tt.bookedLater {
						b.BookedAt = &after
					}
					if tt.group {
						b.Capacity = &seats
					}
				case id(22):
					at := before.Add(time.Minute)
					b.BookedAt = &at
					if tt.full {
						b.Reason = booking.ReasonCapacityFull
					}
				}
			}
			browser := w.user(t, "ayu", access.Operator)
			for lang, want := range map[string]string{"en": tt.english, "id": tt.indone} {
				for _, path := range []string{"/bookings/" + id(22).String(), "/bookings/" + id(21).String(), "/conflicts?booking=" + id(22).String(), "/calendar?view=day&booking=" + id(22).String(), "/calendar?booking=" + id(21).String()} {
					res := w.get(t, browser, path, "Accept-Language", lang)
					class := "because"
					if strings.HasPrefix(path, "/conflicts") {
						class = "why"
					}
					told := slices.DeleteFunc(shows(t, res, class), func(s string) bool {
						return want == "" && !strings.Contains(s, "holder") && !strings.Contains(s, "emegang")
					})
					if found := slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, want) }); (want == "") != (len(told) == 0) || want != "" && !found {
						t.Errorf("%s %s: it says %q, want %q", lang, path, told, want)
					}
					wholesome(t, res, lang)
				}
			}
		})
	}
}

// Beside the calendar a conflict leads on to where it is decided, by whoever may.
func TestDetailOfAConflictSaysWhatToDo(t *testing.T) {
	t.Parallel()
	w, _ := quarrels(t)
	operator, viewer := w.user(t, "ayu", access.Operator), w.user(t, "budi", access.Viewer)
	const decide, ask = "What to do: cancel one of them at its provider, or accept that they overlap.", "What to do: ask an operator"
	open := `href="/conflicts?booking=` + id(22).String() + `&amp;past=1"`
	for what, path := range map[string]string{"who waits": "/calendar?booking=" + id(22).String(), "who holds": "/calendar?booking=" + id(21).String()} {
		page := section(t, w.get(t, operator, path).body, `<aside class="detail"`, "</aside>")
		has(t, what, page, decide, open, "See them side by side")
		page = section(t, w.get(t, viewer, path).body, `<aside class="detail"`, "</aside>")
		has(t, what+", to a viewer", page, ask, open)
	}
	page := section(t, w.get(t, operator, "/calendar?booking="+id(34).String()).body, `<aside class="detail"`, "</aside>")
	has(t, "an accepted one", page, `href="/conflicts?booking=`+id(34).String()+`&amp;past=1&amp;show=accepted"`, "nobody needs to do anything")
	hasNot(t, "an accepted one", page, "What to do")
	page = section(t, w.get(t, operator, "/calendar?booking="+id(24).String()).body, `<aside class="detail"`, "</aside>")
	hasNot(t, "one without a conflict", page, "What to do", "/conflicts")
	if res := w.get(t, operator, "/conflicts?booking="+id(22).String()+"&past=1"); !strings.Contains(res.body, "Jonas Keller") {
		t.Error("the way to the conflict leads elsewhere")
	}
}
