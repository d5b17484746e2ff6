package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"slotkeeper/booking"
	"slotkeeper/booking/access"
	bt "slotkeeper/booking/bookingtest"
	"slotkeeper/booking/store/storetest"
	"slotkeeper/booking/vault"
)

// telling makes a post about somebody as adapters do: the key is the e-mail's, and
// the body has it all.
func telling(t *testing.T, b *storetest.Bench, pepper []byte, email, name, phone string, e *booking.Event) booking.Post {
	t.Helper()
	title, place := "Intake with "+name, "call "+phone
	e.Title, e.Location = &title, &place
	for i := range e.Attendees {
		a := &e.Attendees[i]
		if strings.HasPrefix(a.Email, "priya@") {
			a.Email, a.Name, a.Phone = email, &name, &phone
		}
		a.Key = vault.EmailKey(pepper, a.Email)
	}
	p := b.Post(e)
	body, err := json.Marshal(map[string]any{"event": e.ExternalID, "at": e.Key, "who": []string{email, name, phone}})
	if err != nil {
		t.Fatal(err)
	}
	p.Body = body
	return p
}

// A person who was erased is in no row and no body, and does not come back: not
// by copies, by what waited, by new events, by readings of the provider's API, nor
// by an erasure that is made again. Everybody else stays as they were.
func TestErase(t *testing.T) {
	t.Parallel()
	const email, name, phone = "Priya.Raman@mail.example", "Priya Raman", "+62 812-5550-1234"
	traces := []string{"priya.raman", "Priya Raman", "5550-1234", "555012"}
	for kind, who := range map[string]booking.Whom{"email": {Email: "  priya.raman@MAIL.example"}, "phone": {Phone: "0062 (812) 5550 1234"}} {
		for database, fresh := range databases {
			t.Run(database+" by "+kind, func(t *testing.T) {
				t.Parallel()
				b := storetest.NewBench(t, fresh(t))
				pepper, err := b.Installation(t.Context(), storetest.Now)
				if err != nil {
					t.Fatal(err)
				}
				tell := func(e *booking.Event) booking.Post { return telling(t, b, pepper, email, name, phone, e) }
				single := tell(bt.New(bt.Calendly, cre, "one", 1, bt.In("s1"), bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya")))
				seated := tell(bt.New(bt.Calcom, cre, "class", 1, bt.When("11:00", "11:30"), bt.With("maren"), bt.For("kofi", "priya"), bt.Seats(5)))
				waiting := tell(bt.New(bt.Calendly, booking.KindDetails, "later", 4, bt.For("priya")))
				waiting.Kind = booking.KindDetails
				other := tell(bt.New(bt.Calendly, cre, "other", 1, bt.In("s2"), bt.When("12:00", "12:30"), bt.With("maren"), bt.For("lena")))
				otherTitle := "Intake"
				other.Event.Title, other.Event.Location, other.Body = &otherTitle, nil, []byte(`{"who":"lena@mail.example"}`)
				ignored := booking.Post{Delivery: booking.Delivery{
					ReceiptID: uuid.New(), ConnectionID: b.Conn["calcom"], EventKey: "guests", Kind: "BOOKING_PAID", Status: booking.StatusIgnored, Actor: booking.ActorWebhook,
				}, Body: []byte(`{"guests":["priya.raman\u0040mail.example"],"phone":"+6281255501234"}`), ReceivedAt: storetest.Now}
				failed := tell(bt.New(bt.Calendly, cre, "failed", 1, bt.In("s9"), bt.When("18:00", "18:30"), bt.With("maren"), bt.For("priya")))
				b.ApplyPosts(t, single, seated, waiting, other, ignored)
				if _, err := b.KeepFailed(t.Context(), failed, errors.New("boom"), storetest.Now); err != nil {
					t.Fatal(err)
				}
				before, err := b.Everything(t.Context())
				if err != nil {
					t.Fatal(err)
				}

				found, err := b.Erase(t.Context(), who, access.System, storetest.Now, true)
				if err != nil || found.Bookings != 2 || found.Receipts != 5 {
					t.Fatalf("would erase %+v, %v", found, err)
				}
				if _, err := b.ReceiptBody(t.Context(), single.ReceiptID); err != nil {
					t.Fatalf("counting emptied a body: %v", err)
				}
				done, err := b.Erase(t.Context(), who, access.System, storetest.Now, false)
				if err != nil || done != found {
					t.Fatalf("erased %+v, not %+v: %v", done, found, err)
				}
				check := func(when string) *booking.State {
					t.Helper()
					st, err := b.Everything(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					text, err := json.Marshal([]any{
						slices.Collect(maps.Values(st.Bookings)), slices.Collect(maps.Values(st.Attendances)), slices.Collect(maps.Values(st.Sessions)), slices.Collect(maps.Values(st.Receipts)),
						slices.Collect(maps.Values(st.Identities)), slices.Collect(maps.Values(st.Resources)),
					})
					if err != nil {
						t.Fatal(err)
					}
					for _, trace := range traces {
						if at := strings.Index(strings.ToLower(string(text)), strings.ToLower(trace)); at >= 0 {
							t.Errorf("%s, %q is still there: …%s…", when, trace, text[max(0, at-80):min(len(text), at+80)])
						}
					}
					told, err := b.Transitions(t.Context(), booking.Filter{}, booking.Page{Limit: booking.MaxLimit})
					if err != nil {
						t.Fatal(err)
					}
					for _, tr := range told.Items {
						b := st.Bookings[tr.BookingID]
						if erased := b.Invitee.Name.Value == ""; tr.Erased != erased || erased != (tr.Invitee == "") {
							t.Errorf("%s, the audit says of %q of %s that they are erased: %t", when, tr.Invitee, b.ExternalID, tr.Erased)
						}
					}
					for _, r := range st.Receipts {
						if body, err := b.ReceiptBody(t.Context(), r.ID); err == nil {
							for _, trace := range traces {
								if strings.Contains(strings.ToLower(string(body)), strings.ToLower(trace)) {
									t.Errorf("%s, receipt %s has the body %s", when, r.EventKey, body)
								}
							}
						} else if !errors.Is(err, booking.ErrNotFound) {
							t.Error(err)
						}
					}
					return st
				}
				after := check("erased")
				for id, was := range before.Bookings {
					is := after.Bookings[id]
					if is.Status != was.Status || is.SessionID != was.SessionID || is.Seat != was.Seat {
						t.Errorf("booking %s became %+v", was.ExternalID, is)
					}
					if was.ExternalID == "other" && (is.Invitee != was.Invitee || is.Title != was.Title) {
						t.Errorf("somebody else's became %+v", is)
					}
				}
				if got := findings(t, b, before.Ledger.Head); got != "" {
					t.Errorf("the audit: %s", got)
				}
				for _, p := range []booking.Post{single, seated, waiting, other, ignored} {
					p.ReceiptID = uuid.New()
					if a := b.ApplyPosts(t, p)[0]; a.Status != booking.StatusDuplicate {
						t.Errorf("a copy of %s is %s", p.EventKey, a.Status)
					}
				}
				// Another process, which has never been told of the erasure.
				o := storetest.Open(t, b.URL)
				if _, err := o.Installation(t.Context(), storetest.Now); err != nil {
					t.Fatal(err)
				}
				read := tell(bt.Read(bt.Calendly, booking.KindSnapshot, "one", 50, 1, bt.In("s1"), bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya")))
				read.Read, read.Actor = true, "backfill"
				snapshot := tell(bt.New(bt.Calcom, cre, "class", 60, bt.When("11:00", "11:30"), bt.With("maren"), bt.For("kofi", "priya"), bt.Seats(5)))
				snapshot.Snapshot = slices.Clone(snapshot.Body)
				unknown := ignored
				unknown.EventKey, unknown.ReceiptID = "guests again", uuid.New()
				for _, p := range []booking.Post{
					tell(bt.New(bt.Calendly, cre, "later", 2, bt.In("s3"), bt.When("13:00", "13:30"), bt.With("maren"), bt.For("priya"))),
					tell(bt.New(bt.Calendly, cre, "new", 70, bt.In("s4"), bt.When("14:00", "14:30"), bt.With("maren"), bt.For("priya"))),
					read, snapshot, unknown,
				} {
					answers, err := o.Apply(t.Context(), []booking.Post{p}, storetest.Now)
					if err != nil || answers[0].Status == booking.StatusFailed {
						t.Fatalf("%s: %+v, %v", p.EventKey, answers, err)
					}
				}
				again := tell(bt.New(bt.Calendly, cre, "failed again", 1, bt.In("s8"), bt.When("19:00", "19:30"), bt.With("maren"), bt.For("priya")))
				if a, err := o.KeepFailed(t.Context(), again, errors.New("boom"), storetest.Now); err != nil || a.Code != booking.CodeBodyRetired {
					t.Errorf("kept as %+v, %v", a, err)
				}
				later := check("after more came")
				if bk := later.Bookings[booking.ID(bt.Calendly, "new", "")]; bk.Status != booking.Active {
					t.Errorf("a new booking of the person is %+v", bk)
				}
				if n := len(later.Attendances); n != len(before.Attendances) {
					t.Errorf("%d attendances, not %d: the seat was taken for another's", n, len(before.Attendances))
				}
				if found, err := b.Erase(t.Context(), who, access.System, storetest.Now, false); err != nil || !found.Nothing() {
					t.Errorf("a second time %+v: %v", found, err)
				}
				check("erased twice")
			})
		}
	}
}

func TestEraseRefuses(t *testing.T) {
	t.Parallel()
	for name, fresh := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := storetest.NewBench(t, fresh(t))
			b.Apply(t, bt.New(bt.Calendly, cre, "one", 1, bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya")))
			for _, who := range []booking.Whom{{}, {Phone: "123"}, {Email: "  "}, {Email: "a@b.example", Phone: "+62 812 5550 1234"}, {Email: "maren@harbourclinic.example"}, {Email: "Priya Raman"}, {Email: "priya@"}, {Email: "a@b.example, c@d.example"}, {Phone: "priya@mail.example"}} {
				if _, err := b.Erase(t.Context(), who, access.System, storetest.Now, false); err == nil {
					t.Errorf("%+v was erased", fmt.Sprint(who))
				}
			}
		})
	}
}

// Whoever stands in a list is erased from a database that was restored from before,
// as by e-mail or number, and only hosts are left out. A list of elsewhere erases nobody.
func TestEraseAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx := t.Context()
		pepper, err := b.Installation(ctx, storetest.Now)
		if err != nil {
			t.Fatal(err)
		}
		const email, name, phone = "priya.raman@mail.example", "Priya Raman", "+62 812-5550-1234"
		single := telling(t, b, pepper, email, name, phone, bt.New(bt.Calendly, cre, "one", 1, bt.In("s1"), bt.When("10:00", "10:30"), bt.With("maren"), bt.For("priya")))
		other := telling(t, b, pepper, email, name, phone, bt.New(bt.Calendly, cre, "other", 1, bt.In("s2"), bt.When("12:00", "12:30"), bt.With("maren"), bt.For("lena")))
		other.Body = []byte(`{"who":"lena@mail.example"}`)
		b.ApplyPosts(t, single, other)
		list := booking.ErasedList{Installation: vault.PepperName(pepper), People: []booking.ErasedKey{
			{Kind: booking.ErasedPhone, Key: vault.PhoneKey(pepper, phone)},
			{Kind: booking.ErasedEmail, Key: vault.EmailKey(pepper, "maren@harbourclinic.example")},
		}}
		elsewhere := list
		elsewhere.Installation = vault.PepperName([]byte("another"))
		var conflict *booking.ConflictError
		if _, err := b.EraseAgain(ctx, elsewhere, booking.AgainListed, access.System, storetest.Now, false); !errors.As(err, &conflict) {
			t.Errorf("another installation's list: %v", err)
		}
		for _, dry := range []bool{true, false} {
			found, err := b.EraseAgain(ctx, list, booking.AgainListed, access.System, storetest.Now, dry)
			if err != nil || found.Bookings != 1 || found.Receipts != 1 || found.Hosts != 1 {
				t.Errorf("dry %v: %+v, %v", dry, found, err)
			}
			v, err := b.Booking(ctx, booking.ID(bt.Calendly, "one", ""))
			if err != nil || (v.Invitee.Name == "") == dry {
				t.Errorf("dry %v: %+v, %v", dry, v.Invitee, err)
			}
		}
		if v, err := b.Booking(ctx, booking.ID(bt.Calendly, "other", "")); err != nil || v.Invitee.Email == "" {
			t.Errorf("another became %+v, %v", v.Invitee, err)
		}
		got, err := b.ErasedPeople(ctx, storetest.Now)
		if err != nil || got.Installation != list.Installation || len(got.People) != 2 { // the number, and the e-mail that it led to
			t.Errorf("%+v, %v", got, err)
		}
		if found, err := b.EraseAgain(ctx, got, booking.AgainListed, access.System, storetest.Now, true); err != nil || !found.Nothing() {
			t.Errorf("its own list leaves %+v to do: %v", found, err)
		}
	})
}

// Who was erased is listed with who had it done, and stays so when it was done again:
// the log of the database that is left says so.
func TestErasedOnWhoseWord(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *storetest.Bench) {
		ctx := t.Context()
		by := access.By{Actor: "user:01890000-0000-7000-8000-0000000000aa", Remote: "192.0.2.7"}
		if _, err := b.Erase(ctx, booking.Whom{Email: "priya.raman@mail.example"}, by, storetest.Now, false); err != nil {
			t.Fatal(err)
		}
		before, err := b.ErasedPeople(ctx, storetest.Now)
		if err != nil || len(before.People) != 1 || !slices.Equal(before.People[0].By, []booking.Actor{by.Actor}) {
			t.Fatalf("listed are %+v: %v", before, err)
		}
		// Another database of the installation, which knew nobody.
		later := storetest.Now.Add(time.Hour)
		before.People[0].Key = strings.Repeat("a", 32)
		if _, err := b.EraseAgain(ctx, before, booking.AgainRestored, access.System, later, false); err != nil {
			t.Fatal(err)
		}
		log, err := b.AdminLog(ctx, access.EntryFilter{Action: access.DidEraseAgain}, booking.Page{Limit: 5})
		if err != nil || len(log.Items) != 1 || log.Items[0].Actor != access.System.Actor ||
			log.Items[0].Detail["because"] != booking.AgainRestored || log.Items[0].Detail["first_by"] != string(by.Actor) {
			t.Errorf("the log has %+v: %v", log.Items, err)
		}
		after, err := b.ErasedPeople(ctx, later)
		if err != nil || len(after.People) != 2 || !slices.Equal(after.People[1].By, []booking.Actor{by.Actor}) {
			t.Errorf("then listed are %+v: %v", after, err)
		}
	})
}
