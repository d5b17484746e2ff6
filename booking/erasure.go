package booking

// CodeBodyRetired is the code of a receipt that nothing more can be done about,
// since its body is gone.
const CodeBodyRetired = "body_retired"

// Erasure is what erasing a person removed, or would.
type Erasure struct {
	Bookings    int64
	Attendances int64 // what is kept of seats beside their bookings
	Receipts    int64 // whose bodies, snapshots or waiting events tell of the person
	Effects     int64 // whose payloads do
	Forms       int64 // bookings whose intake forms and notes do
	// Emails says how many addresses the person was found with: by a phone number,
	// those of its bookings are erased too.
	Emails int64
}
