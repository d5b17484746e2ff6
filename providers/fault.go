package providers

import "fmt"

// Fault is why a signed body cannot be used. Its code is stable and stands in
// receipts and alerts; its text says what is wrong and what to do, and
// quotes nothing of the body, which may be somebody's name. It is a verdict about
// the body, not an error of ours.
type Fault struct {
	Code string
	Text string
}

// The codes of bodies that cannot be used.
const (
	CodeJSONInvalid      = "json_invalid"
	CodeFormInvalid      = "form_invalid"
	CodeEncodingInvalid  = "encoding_invalid"
	CodeNestingTooDeep   = "nesting_too_deep"
	CodeDuplicateKey     = "duplicate_key"
	CodeNumberTooLarge   = "number_too_large"
	CodeBodyTooLarge     = "body_too_large"
	CodeListCut          = "list_cut"
	CodeTooManyValues    = "too_many_values"
	CodeKindMissing      = "kind_missing"
	CodePayloadMissing   = "payload_missing"
	CodeIDMissing        = "id_missing"
	CodeIDInvalid        = "id_invalid"
	CodeFieldTooLong     = "field_too_long"
	CodeTimeMissing      = "time_missing"
	CodeTimeInvalid      = "time_invalid"
	CodeEndBeforeStart   = "end_before_start"
	CodeTooLong          = "too_long"
	CodeZoneUnknown      = "zone_unknown"
	CodeResourceMissing  = "resource_missing"
	CodeCapacityInvalid  = "capacity_invalid"
	CodeAttendeesMissing = "attendees_missing"
	CodeTooManyAttendees = "too_many_attendees"
	CodeTemplateChanged  = "template_changed"
	CodeBodyRetired      = "body_retired"
)

// Faultf makes a fault. The text must not quote the body.
func Faultf(code, format string, args ...any) *Fault {
	return &Fault{Code: code, Text: fmt.Sprintf(format, args...)}
}
