package booking

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// TroubleKind is what a person has to see to.
type TroubleKind string

// The kinds of trouble, by what they are about.
const (
	// TroubleConnection: calls to a connection's API fail, its sign-in is no longer
	// accepted, or its webhook is gone.
	TroubleConnection TroubleKind = "connection"
	// TroubleReceipts: the newest deliveries of a connection could not be applied.
	TroubleReceipts TroubleKind = "receipts"
	// TroubleDead: deliveries were given up.
	TroubleDead TroubleKind = "dead"
	// TroubleOpen: a delivery is stored and not applied for long.
	TroubleOpen TroubleKind = "open"
	// TroubleConflict: a booking has no slot.
	TroubleConflict TroubleKind = "conflict"
	// TroubleConflicts: an import or a comparison brought bookings that have none,
	// or there are too many to tell of one by one.
	TroubleConflicts TroubleKind = "conflicts"
	// TroubleDrift: a provider has bookings otherwise than we do.
	TroubleDrift TroubleKind = "drift"
	// TroubleCopies: most of what a connection's provider posts came before.
	TroubleCopies TroubleKind = "copies"
	// TroubleUnproven: many posts to a connection bear no signature that fits.
	TroubleUnproven TroubleKind = "unproven"
	// TroubleEndpoint: another system is not told of anything any more, since nothing
	// gets through or it was switched off for that.
	TroubleEndpoint TroubleKind = "endpoint"
)

// TroubleKinds are all of them.
func TroubleKinds() []TroubleKind {
	return []TroubleKind{
		TroubleConnection, TroubleReceipts, TroubleDead, TroubleOpen, TroubleConflict, TroubleConflicts, TroubleDrift, TroubleCopies,
		TroubleUnproven, TroubleEndpoint,
	}
}

// AlertLevel is how soon somebody has to look.
type AlertLevel string

// A notice can wait until somebody looks anyway, a warning for the working day; for a
// page somebody gets up.
const (
	LevelNotice  AlertLevel = "notice"
	LevelWarning AlertLevel = "warning"
	LevelPage    AlertLevel = "page"
)

// AlertLevels are all of them, the least first.
func AlertLevels() []AlertLevel { return []AlertLevel{LevelNotice, LevelWarning, LevelPage} }

// Reaches tells whether a level is at least another.
func (l AlertLevel) Reaches(least AlertLevel) bool {
	return slices.Index(AlertLevels(), l) >= slices.Index(AlertLevels(), least)
}

// The bounds of DESIGN §5.5: failures in a row, or how long they last.
const (
	warnFailures, pageFailures = 5, 20
	warnAfter, pageAfter       = 15 * time.Minute, time.Hour
)

// failureLevel is that of failures in a row.
func failureLevel(failures int, lasting time.Duration) AlertLevel {
	switch {
	case failures >= pageFailures, lasting >= pageAfter:
		return LevelPage
	case failures >= warnFailures, lasting >= warnAfter:
		return LevelWarning
	}
	return LevelNotice
}

// Trouble is what is wrong now.
type Trouble struct {
	Kind TroubleKind
	// Subject is what it is about: a connection's id, a booking's, or "" for the
	// installation.
	Subject string
	// Detail is a word for the cause, without personal data, Count how often or how
	// many.
	Detail string
	Count  int
	// Since is when it began; zero where that is not known.
	Since time.Time
	// Resources are whose it is, where it is somebody's: those who are told of certain
	// resources alone hear of it.
	Resources []uuid.UUID
}

// Level says how soon somebody has to look. What fails grows worse with time; two
// people in one slot are for the working day, however many they are.
func (t Trouble) Level(now time.Time) AlertLevel {
	switch t.Kind {
	case TroubleConnection, TroubleReceipts, TroubleOpen:
		return failureLevel(t.Count, now.Sub(t.Since))
	case TroubleCopies:
		return LevelNotice
	case TroubleUnproven:
		if t.Detail != UnprovenAll {
			return LevelNotice // a stranger: what the provider sends arrives all the same
		}
	case TroubleEndpoint:
		if t.Detail == "" && now.Sub(t.Since) < warnAfter {
			return LevelNotice // it may be over with the next try
		}
	case TroubleDead, TroubleConflict, TroubleConflicts, TroubleDrift:
	}
	return LevelWarning
}

// Alert is a trouble that was told of: from when it was found until it was over.
type Alert struct {
	ID             uuid.UUID
	Kind           TroubleKind
	Subject        string
	Level          AlertLevel // the highest that was reached
	Detail         string
	Count          int
	Since          time.Time // of the present stretch, where it came and went
	OpenedAt       time.Time
	GoneAt         *time.Time // since when nothing is wrong any more, though that may not last
	ClosedAt       *time.Time // nil while it lasts
	Returns        int        // how often it began again after it was over
	AcknowledgedBy Actor      // "" for nobody
	AcknowledgedAt *time.Time
}

// Began is when it first was so, however often it came and went since.
func (a Alert) Began() time.Time {
	if a.OpenedAt.Before(a.Since) {
		return a.OpenedAt
	}
	return a.Since
}

// AlertEvent is what is told of an alert.
type AlertEvent string

// An alert opens, becomes worse, and is over; soon after, it may be there again.
const (
	AlertOpened    AlertEvent = "opened"
	AlertWorse     AlertEvent = "worse"
	AlertRecovered AlertEvent = "recovered"
	AlertReturned  AlertEvent = "returned"
)

// AlertStep is what becomes of an alert when the troubles of now are looked at.
type AlertStep struct {
	Alert Alert
	// Event is told to those whom it concerns; "" when nothing new is to be told.
	Event     AlertEvent
	Resources []uuid.UUID
}

// Told is the action of the effects that tell of an event of the alert, at its level:
// asked for again, nobody is told twice.
func (a Alert) Told(e AlertEvent) uuid.UUID {
	what := string(e) + " " + string(a.Level)
	if a.Returns > 0 {
		what += " " + strconv.Itoa(a.Returns)
	}
	return uuid.NewSHA1(a.ID, []byte(what))
}

// ToldBefore are the actions by which somebody may have been told that it is, since it
// last began.
func (a Alert) ToldBefore() []uuid.UUID {
	var out []uuid.UUID
	for _, level := range AlertLevels() {
		a.Level = level
		out = append(out, a.Told(AlertOpened), a.Told(AlertWorse), a.Told(AlertReturned))
	}
	return out
}

// Notice is what one recipient is told. It is the payload of an effect, and holds no
// personal data.
type Notice struct {
	AlertID   uuid.UUID  `json:"alert"`
	Recipient uuid.UUID  `json:"recipient"`
	Event     AlertEvent `json:"event"`
	Level     AlertLevel `json:"level"`
	Count     int        `json:"count"`
	Detail    string     `json:"detail"`
	At        time.Time  `json:"at"`
}

// AlertChannel is how somebody is told.
type AlertChannel string

// The channels; pages show every alert besides.
const (
	ChannelMail  AlertChannel = "mail"
	ChannelSlack AlertChannel = "slack"
)

// AlertChannels are all of them.
func AlertChannels() []AlertChannel { return []AlertChannel{ChannelMail, ChannelSlack} }

// The effects that tell of alerts.
const (
	EffectAlertMail  EffectKind = "alert_mail"
	EffectAlertSlack EffectKind = "alert_slack"
)

// Effect is the kind of effect that tells somebody over a channel.
func (c AlertChannel) Effect() EffectKind {
	if c == ChannelSlack {
		return EffectAlertSlack
	}
	return EffectAlertMail
}

// AlertRecipient is who is told.
type AlertRecipient struct {
	ID      uuid.UUID
	Channel AlertChannel
	// Address is an e-mail address, or the URL of an incoming webhook, a secret; ""
	// where recipients are listed. Label is what people see of it.
	Address, Label string
	Least          AlertLevel
	Language       string
	// Resources narrow it to what is about one of them; none hears of everything.
	Resources []uuid.UUID
	CreatedBy Actor
	CreatedAt time.Time
}

// Hears tells whether what began, or became worse, concerns a recipient. That it is
// over concerns whoever was told before.
func (r AlertRecipient) Hears(s AlertStep) bool {
	if s.Event == "" || !s.Alert.Level.Reaches(r.Least) {
		return false
	}
	return len(r.Resources) == 0 || slices.ContainsFunc(r.Resources, func(id uuid.UUID) bool { return slices.Contains(s.Resources, id) })
}

// WorstFirst orders alerts: those about which something is wrong now by level, then by
// when they began; those that may be over come last.
func WorstFirst(all []Alert) {
	levels, gone := AlertLevels(), func(a Alert) int {
		if a.GoneAt != nil {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b Alert) int {
		return cmp.Or(cmp.Compare(gone(a), gone(b)), cmp.Compare(slices.Index(levels, b.Level), slices.Index(levels, a.Level)), a.OpenedAt.Compare(b.OpenedAt))
	})
}
