package acuity_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/providers"
	"slotkeeper/providers/acuity/acuitytest"
	"slotkeeper/providers/providertest"
)

// Where somebody had forms kept they come with each way of reading an appointment,
// and never in what is kept of the answer itself.
func TestFormsAreToldOnRequest(t *testing.T) {
	p := newPlace(t)
	id, bare := p.book(t, consult, doctor), p.book(t, consult, studio)
	if _, err := p.Tell(toInt(t, id), "asked about\r\nher knee", acuitytest.Answer{Question: "Goal", Text: " Return to running "}, acuitytest.Answer{Question: "Surgery"}); err != nil {
		t.Fatal(err)
	}
	want := &booking.Forms{Notes: "asked about\nher knee", Filled: []booking.Form{{
		Name: "Intake", Fields: []booking.FormField{{Name: "Goal", Value: "Return to running"}, {Name: "Surgery"}},
	}}}
	for _, keep := range []bool{false, true} {
		p.conn.KeepForms = keep
		fetched, err := p.provider.Fetch(t.Context(), p.client, p.conn, id, nil)
		if err != nil {
			t.Fatal(err)
		}
		looked, err := p.provider.Look(t.Context(), p.client, p.conn, providertest.Origin(p.provider), id, noon)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]*booking.Forms{"fetched": fetched.Forms, "looked up": looked.Forms}
		bodies := string(fetched.Snapshot) + string(looked.Body)
		all, _ := p.list(t, around)
		for _, s := range all {
			bodies += string(s.Body)
			if s.Event.ExternalID == id {
				got["listed"] = s.Forms
			} else if empty := s.Forms != nil && s.Forms.Empty(); s.Event.ExternalID == bare && empty != keep {
				t.Errorf("of one without forms is told %+v", s.Forms)
			}
		}
		for how, forms := range got {
			if keep && !reflect.DeepEqual(forms, want) || !keep && forms != nil {
				t.Errorf("kept: %t; %s it tells %+v", keep, how, forms)
			}
		}
		if strings.Contains(bodies, "knee") || strings.Contains(bodies, "running") {
			t.Errorf("kept: %t; it is in what is kept of the answers: %s", keep, bodies)
		}
	}
}

// answeringForms is an API whose appointment has forms as given, and whose lists are
// so long with forms that nobody reads them.
func answeringForms(t *testing.T, forms string) (*httptest.Server, *[]url.Values) {
	t.Helper()
	var asked []url.Values
	one := `{"id":7,"datetime":"2026-12-07T12:00:00-0500","duration":"30","appointmentTypeID":1,"calendarID":1,"canceled":false,"classID":null,"forms":` + forms + `}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/calendars"):
			_, _ = w.Write([]byte(`[]`)) // the client sees what is missing, here and below
		case strings.HasSuffix(r.URL.Path, "/appointments"):
			asked = append(asked, r.URL.Query())
			if r.URL.Query().Get("excludeForms") == "" {
				_, _ = w.Write([]byte(`["` + strings.Repeat("x", 17<<20) + `"]`))
				return
			}
			_, _ = w.Write([]byte("[" + strings.Replace(one, forms, "[]", 1) + "]"))
		default:
			_, _ = w.Write([]byte(one))
		}
	}))
	t.Cleanup(s.Close)
	return s, &asked
}

// A day whose forms are too much to read is read without them, and then says nothing
// of them: what was kept before stays.
func TestTooManyForms(t *testing.T) {
	s, asked := answeringForms(t, `[{"id":1,"name":"Intake","values":[]}]`)
	c := providers.Connection{APIBase: s.URL, API: providers.Credentials{User: "1"}, Secrets: providers.Secrets{Current: "key"}, KeepForms: true}
	w := providers.Window{From: noon, To: noon.Add(day)}
	w.From = w.From.Add(-2 * day)
	page, err := adapter().List(t.Context(), s.Client(), c, providertest.Origin(adapter()), w, "", noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range page.Standings {
		if st.Event == nil || st.Forms != nil {
			t.Errorf("%+v", st)
		}
	}
	if len(*asked) != 2 || (*asked)[1].Get("excludeForms") != "true" {
		t.Errorf("asked %v", *asked)
	}
}

// Whatever stands in forms, what is kept of them is bounded, and says so.
func TestFormsAreBounded(t *testing.T) {
	long := strings.Repeat("é", 20<<10) // 40 KiB
	var many strings.Builder
	for i := range 700 {
		fmt.Fprintf(&many, `{"name":"q%d","value":"a"},`, i)
	}
	for name, c := range map[string]struct {
		forms string
		cut   bool
	}{
		"a long answer":    {`[{"name":"Intake","values":[{"name":"q","value":"` + long + `"}]}]`, true},
		"many long ones":   {`[{"name":"Intake","values":[` + strings.Repeat(`{"name":"q","value":"`+strings.Repeat("a", 9<<10)+`"},`, 20) + `{}]}]`, true},
		"many questions":   {`[{"name":"Intake","values":[` + many.String() + `{}]}]`, true},
		"not what it says": {`[3,null,"x",{"name":4,"values":{}},{"values":[[],{"name":{},"value":17}]}]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := answeringForms(t, c.forms)
			conn := providers.Connection{APIBase: s.URL, API: providers.Credentials{User: "1"}, Secrets: providers.Secrets{Current: "key"}, KeepForms: true}
			got, err := adapter().Fetch(t.Context(), s.Client(), conn, "7", nil)
			if err != nil || got.Forms == nil {
				t.Fatalf("%+v, %v", got, err)
			}
			size, fields := len(got.Forms.Notes), 0
			for _, f := range got.Forms.Filled {
				size += len(f.Name)
				for _, v := range f.Fields {
					fields++
					size += len(v.Name) + len(v.Value)
					if strings.ToValidUTF8(v.Value, "?") != v.Value {
						t.Error("a letter was cut in two")
					}
				}
			}
			if size > 128<<10 || fields > 500 || got.Forms.Cut != c.cut {
				t.Errorf("%d bytes in %d fields, cut: %t", size, fields, got.Forms.Cut)
			}
			if name == "not what it says" && (got.Forms.Filled[1].Fields[1].Value != "17" || got.Forms.Filled[0].Name != "4") {
				t.Errorf("%+v", got.Forms.Filled)
			}
		})
	}
}
