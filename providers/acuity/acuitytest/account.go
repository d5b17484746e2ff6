package acuitytest

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
)

// wireMe has some of the account's 70 members (REC). Of these name and email are
// UNV. That can_use_api is false says nothing (REC).
type wireMe struct {
	ID               json.RawMessage `json:"id"`
	Name             string          `json:"name"`
	Email            string          `json:"email"`
	Timezone         string          `json:"timezone"`
	TimeFormat       string          `json:"timeFormat"`
	DateFormat       string          `json:"dateFormat"`
	FirstDayOfWeek   int             `json:"firstDayOfWeek"`
	Plan             string          `json:"plan"`
	PlanCapabilities map[string]bool `json:"planCapabilities"`
}

func (s *Server) getMe(w http.ResponseWriter, _ *http.Request) {
	answer(w, wireMe{
		ID: json.RawMessage(cmp.Or(s.options.UserID, "0")), Name: s.options.Name, Email: s.options.Email, Timezone: s.zone.String(),
		TimeFormat: "ampm", DateFormat: "%B %e, %Y", Plan: "Powerhouse", PlanCapabilities: map[string]bool{"can_use_api": false},
	})
}

func (s *Server) getCalendars(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	all := slices.Clone(s.calendars)
	s.mu.Unlock()
	out := make([]wireCalendar, 0, len(all))
	for _, c := range all {
		out = append(out, wireCalendar{ID: c.ID, Name: c.Name, Email: c.Email, ReplyTo: c.Email, Timezone: c.Timezone, IsValid: true})
	}
	answer(w, out)
}

// DropCalendar takes a calendar out of the list; its appointments stay (INF).
func (s *Server) DropCalendar(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calendars = slices.DeleteFunc(s.calendars, func(c Calendar) bool { return c.ID == id })
}

// wireType is a type of appointments (REC).
type wireType struct {
	ID            int64   `json:"id"`
	Name          string  `json:"name"`
	Active        bool    `json:"active"`
	Description   string  `json:"description"`
	Duration      int     `json:"duration"`
	Price         string  `json:"price"`
	Category      string  `json:"category"`
	Color         string  `json:"color"`
	Private       bool    `json:"private"`
	Type          string  `json:"type"`
	Image         string  `json:"image"`
	ClassSize     *int    `json:"classSize"`
	PaddingAfter  int     `json:"paddingAfter"`
	PaddingBefore int     `json:"paddingBefore"`
	CalendarIDs   []int64 `json:"calendarIDs"`
	AddonIDs      []int64 `json:"addonIDs"`
	FormIDs       []int64 `json:"formIDs"`
	SchedulingURL string  `json:"schedulingUrl"`
}

func (s *Server) getTypes(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	types := maps.Clone(s.types)
	calendars := make([]int64, 0, len(s.calendars))
	for _, c := range s.calendars {
		calendars = append(calendars, c.ID)
	}
	s.mu.Unlock()
	out := make([]wireType, 0, len(types))
	for _, id := range slices.Sorted(maps.Keys(types)) {
		t := types[id]
		listed := wireType{
			ID: id, Name: t.Name, Active: true, Duration: t.Minutes, Price: "80.00", Color: "#ED7087", Type: "service",
			CalendarIDs: calendars, AddonIDs: []int64{}, FormIDs: []int64{},
		}
		if t.ClassSize > 0 {
			listed.Type, listed.ClassSize = "class", &t.ClassSize
		}
		out = append(out, listed)
	}
	answer(w, out)
}
