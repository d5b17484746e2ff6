package acuity_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"slotkeeper/providers"
	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/apitest"
)

func (p *place) cancel(id, message string) error {
	return p.provider.Cancel(context.Background(), p.client, p.conn, providers.CancelTarget{ExternalID: id}, message)
}

func TestCancel(t *testing.T) {
	p := newPlace(t)
	p.subscribe(t)
	p.SetNotice(365 * day) // for clients, which an administrator is not
	id := p.book(t, mobility, studio)
	stays := p.book(t, mobility, studio)
	if err := p.cancel(id, "The studio is closed."); err != nil {
		t.Fatal(err)
	}
	a, _ := p.Appointment(toInt(t, id))
	if other, _ := p.Appointment(toInt(t, stays)); !a.Canceled || a.NoShow || a.CancelNote != "The studio is closed." || other.Canceled {
		t.Errorf("%+v", a)
	}
	if posts := p.Due(); len(posts) != 2 || !strings.Contains(string(posts[0].Body), "action=appointment.canceled&id="+id) || len(p.Due()) != 0 {
		t.Errorf("posts %v", posts)
	}
	// Canceled already, here or by another: done, and nobody is told again.
	if err := p.cancel(id, "Again."); err != nil || p.Count("/cancel") != 1 || len(p.Due()) != 0 {
		t.Errorf("again: %v after %d", err, p.Count("/cancel"))
	}
	if err := p.cancel(stays, ""); err != nil {
		t.Errorf("without a message: %v", err)
	}
	if err := p.cancel("17", ""); !errors.Is(err, providers.ErrGone) {
		t.Errorf("unknown: %v", err)
	}
	if err := p.cancel("17/../18", ""); err == nil || errors.Is(err, providers.ErrGone) {
		t.Errorf("no id: %v", err)
	}
}

func TestCancelIsRefused(t *testing.T) {
	p := newPlace(t)
	id := p.book(t, consult, doctor)
	for why, text := range map[error]string{
		acuitytest.ErrCancelNotAllowed: "may not be canceled",
		acuitytest.ErrCancelTooClose:   "this close to the time",
	} {
		p.Lock(toInt(t, id), why)
		err := p.cancel(id, "")
		var answer *providers.AnswerError
		if !errors.As(err, &answer) || answer.Status != http.StatusBadRequest || !strings.Contains(answer.Message, text) {
			t.Errorf("%v: %v", why, err)
		}
	}
	if a, _ := p.Appointment(toInt(t, id)); a.Canceled {
		t.Error("canceled all the same")
	}
}

// The client cancels between our look and our call: what we wanted is so.
func TestCancelComesLate(t *testing.T) {
	p := newPlace(t)
	id := p.book(t, consult, doctor)
	sent := p.record()
	sent.before = func(r *http.Request) {
		if r.Method == http.MethodPut {
			if _, err := p.Cancel(toInt(t, id), false); err != nil {
				t.Error(err)
			}
		}
	}
	if err := p.cancel(id, ""); err != nil || p.Count("/cancel") != 1 {
		t.Errorf("%v", err)
	}
}

// Where the look goes well and the call does not, nothing is taken for done, and
// the next try does it.
func TestCancelInTrouble(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for _, trouble := range []apitest.Trouble{
		apitest.Limited, apitest.Blocked, apitest.Unauthorized, apitest.Forbidden, apitest.Broken, apitest.Garbage, apitest.Misshapen, apitest.Dropped, apitest.Hanging,
	} {
		p := placeAt(t, patient)
		id := p.book(t, consult, doctor)
		p.Set(trouble, "/cancel")
		all.Go(func() {
			if err := p.cancel(id, ""); err == nil || strings.Contains(err.Error(), apiKey) {
				t.Errorf("%s: %v", trouble, err)
			}
			if a, _ := p.Appointment(1841200301); a.Canceled {
				t.Errorf("%s: canceled", trouble)
			}
			p.Set(apitest.Healthy)
			if trouble == apitest.Limited || trouble == apitest.Blocked {
				return // the client leaves the API alone for a while
			}
			if err := p.cancel(id, ""); err != nil {
				t.Errorf("after %s: %v", trouble, err)
			}
		})
	}
	all.Wait()
}
