package calcom

import (
	"testing"
	"time"

	"slotkeeper/providers"
	"slotkeeper/providers/providertest"
)

// Whatever the API answers, what is made of it is a booking or says what is wrong.
func FuzzStanding(f *testing.F) {
	f.Add([]byte(`{"uid":"u1","status":"accepted","title":"Intro","start":"2026-11-03T12:00:00.000Z","end":"2026-11-03T12:30:00.000Z","createdAt":"2026-10-01T00:00:00.000Z",` +
		`"eventType":{"id":7},"location":"https://zoom.us/j/1?pwd=x","rescheduledFromUid":"u0","guests":["g@mail.example"],"bookingFieldsResponses":{"email":"priya.raman@mail.example"},` +
		`"hosts":[{"name":"Maren Oduya","email":"maren.oduya@harbourclinic.example"}],"attendees":[{"email":"priya.raman@mail.example","absent":false},{"email":"theo.adeyemi@harbourclinic.example"},{}]}`))
	f.Add([]byte(`{"uid":"u1","status":"cancelled","rescheduledToUid":"u2","attendees":[{"seatUid":"s","email":"lena.fischer@mail.example","bookingFieldsResponses":{"attendeePhoneNumber":"+49"}},{"email":"t@x.example"}]}`))
	f.Add([]byte(`[]`))
	o := providertest.Origin(New())
	at := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		v, fault := providers.Scan(body)
		if fault != nil {
			return
		}
		for _, kind := range []eventType{{}, {seats: "8", title: "Yoga"}, {seats: "1e99"}} {
			kept := reduce(v, kind)
			if _, fault := providers.Scan(kept); fault != nil && fault.Code == providers.CodeJSONInvalid {
				t.Fatalf("kept: %s", kept)
			}
			s := standing(kept, o, at)
			providertest.CheckFetched(t, s.Delivery, s.Kind, "")
		}
	})
}
