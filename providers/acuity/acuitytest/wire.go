package acuitytest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// wireAppointment is an appointment as the API lists it (REC, in its order).
type wireAppointment struct {
	ID                          int64      `json:"id"`
	FirstName                   string     `json:"firstName"`
	LastName                    string     `json:"lastName"`
	Phone                       string     `json:"phone"`
	Email                       string     `json:"email"`
	Date                        string     `json:"date"`
	Time                        string     `json:"time"`
	EndTime                     string     `json:"endTime"`
	DateCreated                 string     `json:"dateCreated"`
	DatetimeCreated             string     `json:"datetimeCreated"`
	Datetime                    string     `json:"datetime"`
	Price                       string     `json:"price"`
	PriceSold                   string     `json:"priceSold"`
	Paid                        string     `json:"paid"`
	AmountPaid                  string     `json:"amountPaid"`
	Type                        string     `json:"type"`
	AppointmentTypeID           int64      `json:"appointmentTypeID"`
	ClassID                     *int64     `json:"classID"`
	AddonIDs                    []int64    `json:"addonIDs"`
	Category                    string     `json:"category"`
	Duration                    string     `json:"duration"`
	Calendar                    string     `json:"calendar"`
	CalendarID                  int64      `json:"calendarID"`
	Certificate                 *string    `json:"certificate"`
	ConfirmationPage            string     `json:"confirmationPage"`
	ConfirmationPagePaymentLink string     `json:"confirmationPagePaymentLink"`
	Location                    string     `json:"location"`
	Notes                       string     `json:"notes"`
	Timezone                    string     `json:"timezone"`
	CalendarTimezone            string     `json:"calendarTimezone"`
	Canceled                    bool       `json:"canceled"`
	CanClientCancel             bool       `json:"canClientCancel"`
	CanClientReschedule         bool       `json:"canClientReschedule"`
	Labels                      []string   `json:"labels"` // null (REC)
	Forms                       []wireForm `json:"forms"`
	FormsText                   string     `json:"formsText"`
	NoShow                      *bool      `json:"noShow,omitempty"` // of canceled ones only (OFF, REC)
}

// wireSingle is an appointment as the API answers it alone (REC): with two members
// that lists lack.
type wireSingle struct {
	wireAppointment
	IsVerified  bool    `json:"isVerified"`
	ScheduledBy *string `json:"scheduledBy"`
}

// wireForm is an intake form with what the client answered (REC).
type wireForm struct {
	ID     int64       `json:"id"`
	Name   string      `json:"name"`
	Values []wireValue `json:"values"`
}

type wireValue struct {
	ID      int64  `json:"id"`
	FieldID int64  `json:"fieldID"`
	Name    string `json:"name"`
	Value   string `json:"value"`
}

// wireCalendar is a calendar (REC): image and thumbnail are false when there is
// none.
type wireCalendar struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Email       string `json:"email"`
	ReplyTo     string `json:"replyTo"`
	Description string `json:"description"`
	Location    string `json:"location"`
	Timezone    string `json:"timezone"`
	Thumbnail   bool   `json:"thumbnail"`
	Image       bool   `json:"image"`
	IsValid     bool   `json:"isValid"`
}

const (
	stampLayout = "2006-01-02T15:04:05-0700" // no colon (REC)
	dateLayout  = "January 2, 2006"
	timeLayout  = "3:04pm"
)

// created is the zone of datetimeCreated: an offset that is not the account's (REC).
var created = time.FixedZone("", -5*60*60)

func wire(a Appointment) wireAppointment {
	zone, err := time.LoadLocation(a.Calendar.Timezone)
	if err != nil {
		zone = time.UTC
	}
	start := a.Start.In(zone)
	secret := Secret(a.ID)
	w := wireAppointment{
		ID: a.ID, FirstName: a.Client.FirstName, LastName: a.Client.LastName, Phone: a.Client.Phone, Email: a.Client.Email,
		Date: start.Format(dateLayout), Time: start.Format(timeLayout),
		EndTime:     start.Add(time.Duration(a.Type.Minutes) * time.Minute).Format(timeLayout),
		DateCreated: a.Created.In(zone).Format(dateLayout), DatetimeCreated: a.Created.In(created).Format(stampLayout),
		Datetime: start.Format(stampLayout),
		Price:    "80.00", PriceSold: "80.00", Paid: "no", AmountPaid: "0.00",
		Type: a.Type.Name, AppointmentTypeID: a.Type.ID, AddonIDs: []int64{}, Duration: strconv.Itoa(a.Type.Minutes),
		Calendar: a.Calendar.Name, CalendarID: a.Calendar.ID,
		ConfirmationPage:            "https://app.acuityscheduling.com/schedule.php?owner=90000001&action=appt&id%5B%5D=" + secret,
		ConfirmationPagePaymentLink: "https://app.acuityscheduling.com/schedule/0a1b2c3d/pay/" + secret + "/?owner=90000001",
		Timezone:                    a.Client.Timezone, CalendarTimezone: zone.String(),
		Canceled: a.Canceled, CanClientCancel: !a.Canceled, CanClientReschedule: !a.Canceled, Notes: a.Notes, Forms: forms(a),
		FormsText: fmt.Sprintf("Name: %s %s\nPhone: %s\nEmail: %s\nPrice: $80.00\n", a.Client.FirstName, a.Client.LastName, a.Client.Phone, a.Client.Email),
	}
	if a.ClassID != 0 {
		w.ClassID = &a.ClassID
	}
	if a.Canceled {
		w.NoShow = &a.NoShow
	}
	for _, form := range w.Forms {
		w.FormsText += "\n" + form.Name + "\n============\n"
		for _, v := range form.Values {
			w.FormsText += v.Name + ": " + v.Value + "\n"
		}
	}
	return w
}

// The ids of the one form that there is, and of what is written in it.
const (
	intakeForm  = 2900110
	firstField  = 15200330
	firstAnswer = 5100220001
)

func forms(a Appointment) []wireForm {
	if len(a.Answers) == 0 {
		return []wireForm{}
	}
	intake := wireForm{ID: intakeForm, Name: "Intake"}
	for i, answered := range a.Answers {
		intake.Values = append(intake.Values, wireValue{
			ID: firstAnswer + int64(i), FieldID: firstField + int64(i), Name: answered.Question, Value: answered.Text,
		})
	}
	return []wireForm{intake}
}

// Secret is what an appointment's confirmation page has in its address: whoever
// has it can cancel, and nothing of ours may keep it.
func Secret(appointment int64) string {
	sum := sha256.Sum256(strconv.AppendInt([]byte("confirmation page of "), appointment, 10))
	return hex.EncodeToString(sum[:16])
}
