package acuitytest

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Block is a time for which a calendar takes no appointments.
type Block struct {
	ID         int64 // given when it is added
	CalendarID int64
	Start, End time.Time
	Notes      string
	// Recurring is what stands there of a block that recurs. What Acuity writes is
	// UNV; null was recorded of one that does not.
	Recurring string
}

// wireBlock is a block (REC). start and end are in the calendar's zone (REC).
type wireBlock struct {
	ID               int64   `json:"id"`
	CalendarID       int64   `json:"calendarID"`
	ServiceGroupID   int64   `json:"serviceGroupID"`
	CalendarTimezone string  `json:"calendarTimezone"`
	Start            string  `json:"start"`
	End              string  `json:"end"`
	Notes            string  `json:"notes"`
	Managed          bool    `json:"managed"`
	Recurring        *string `json:"recurring"`
	Until            *string `json:"until"`
	Description      string  `json:"description"`
}

// AddBlock blocks a calendar. No webhook tells of it (INF).
func (s *Server) AddBlock(b Block) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.ID = s.nextBlock
	s.nextBlock++
	s.blocks = append(s.blocks, b)
	return b.ID
}

// RemoveBlock ends a block.
func (s *Server) RemoveBlock(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks = slices.DeleteFunc(s.blocks, func(b Block) bool { return b.ID == id })
}

// listBlocks has max, minDate, maxDate and calendarID (TP). Whether the dates are
// those of beginnings, how many there are by default and in which order is UNV:
// here they are of beginnings, a hundred, in the order of time.
func (s *Server) listBlocks(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	from, to, ok := dates(query)
	most, err := most(query)
	if !ok || err != nil {
		refuse(w, "bad_request", "A parameter is invalid.")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.blocks)
	slices.SortStableFunc(all, func(a, b Block) int { return a.Start.Compare(b.Start) })
	out := []wireBlock{}
	for _, b := range all {
		calendar, known := s.calendar(b.CalendarID)
		id := query.Get("calendarID")
		if id != "" && id != strconv.FormatInt(b.CalendarID, 10) || !within(b.Start.In(s.zone), from, to) || len(out) == most {
			continue
		}
		zone := s.zone
		if named, err := time.LoadLocation(calendar.Timezone); err == nil && known {
			zone = named
		}
		out = append(out, b.wire(zone))
	}
	answer(w, out)
}

func (b Block) wire(zone *time.Location) wireBlock {
	start, end := b.Start.In(zone), b.End.In(zone)
	w := wireBlock{
		ID: b.ID, CalendarID: b.CalendarID, ServiceGroupID: b.CalendarID, CalendarTimezone: zone.String(),
		Start: start.Format(stampLayout), End: end.Format(stampLayout), Notes: b.Notes,
		Description: start.Format("Monday, "+dateLayout+" "+timeLayout) + " - " + end.Format(timeLayout),
	}
	if b.Recurring != "" {
		w.Recurring = &b.Recurring
	}
	return w
}
