package acuity_test

import (
	"strings"
	"testing"
	"time"

	"slotkeeper/providers"
	"slotkeeper/providers/acuity/acuitytest"
)

func TestBlocks(t *testing.T) {
	p := newPlace(t)
	hour := time.Hour
	lunch := p.AddBlock(acuitytest.Block{CalendarID: doctor, Start: noon, End: noon.Add(hour), Notes: "Dialysis"})
	reaches := p.AddBlock(acuitytest.Block{CalendarID: studio, Start: noon.Add(-10 * day), End: noon.Add(-day + hour)})
	for _, b := range []acuitytest.Block{
		{CalendarID: doctor, Start: noon.Add(-day - hour), End: noon.Add(-day)},
		{CalendarID: doctor, Start: noon.Add(day), End: noon.Add(day + hour)},
		{CalendarID: doctor, Start: noon, End: noon}, // lasts no time
	} {
		p.AddBlock(b)
	}
	weekly := p.AddBlock(acuitytest.Block{CalendarID: doctor, Start: noon.Add(2 * hour), End: noon.Add(3 * hour), Recurring: "weekly"})
	got, err := p.provider.Blocks(t.Context(), p.client, p.conn, around)
	if err != nil || len(got) != 3 {
		t.Fatalf("%+v (%v)", got, err)
	}
	if b := got[0]; b.ExternalID != number(reaches) || b.Host.ExternalID != "calendar|9120052" || b.Host.Email != "studio@example.com" || b.Host.Name != "Studio B" || !b.EndsAt.Equal(noon.Add(-day+hour)) {
		t.Errorf("%+v", b)
	}
	if b := got[1]; b.ExternalID != number(lunch) || !b.StartsAt.Equal(noon) || !b.EndsAt.Equal(noon.Add(hour)) || b.Note != "" || b.Source != p.conn.Source() || b.Host.ExternalID != "calendar|9120041" {
		t.Errorf("%+v", b)
	}
	if b := got[2]; b.ExternalID != number(weekly)+"|2026-09-15T14:00:00Z" {
		t.Errorf("%+v", b)
	}
	p.RemoveBlock(lunch)
	if got, err = p.provider.Blocks(t.Context(), p.client, p.conn, around); err != nil || len(got) != 2 {
		t.Errorf("%+v (%v)", got, err)
	}
}

// Lists of blocks are as short as those of appointments.
func TestManyBlocks(t *testing.T) {
	p := placeAt(t, patient)
	for i := range 300 {
		calendar := int64(doctor)
		if i%2 == 0 {
			calendar = studio
		}
		start := noon.Add(time.Duration(i%3-1)*day + time.Duration(i)*time.Second)
		p.AddBlock(acuitytest.Block{CalendarID: calendar, Start: start, End: start.Add(time.Hour)})
	}
	days := providers.Window{From: noon.Add(-2 * day), To: noon.Add(2 * day)}
	got, err := p.provider.Blocks(t.Context(), p.client, p.conn, days)
	if err != nil || len(got) != 300 {
		t.Errorf("%d of 300 (%v)", len(got), err)
	}
	for range 100 {
		p.AddBlock(acuitytest.Block{CalendarID: doctor, Start: noon, End: noon.Add(time.Hour)})
	}
	if _, err := p.provider.Blocks(t.Context(), p.client, p.conn, days); err == nil || !strings.Contains(err.Error(), "cannot be read whole") {
		t.Errorf("%v", err)
	}
}
