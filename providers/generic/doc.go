// Package generic reads the posts of any system that can sign them, in a form
// that Slotkeeper defines.
//
// A post is signed in one of two ways:
//
//   - X-Event-ID and X-Signature: the hex HMAC-SHA256 of the raw body under the
//     connection's secret taken as text, with or without the prefix "sha256=".
//   - The headers of the Standard Webhooks specification (webhook-id,
//     webhook-timestamp, webhook-signature), at most five minutes off. The key is
//     the secret's base64 after "whsec_", as the specification has it, of at least
//     16 bytes. A secret without that prefix is taken as text; as many libraries
//     decode it all the same, its base64 is accepted too.
//
// The event id is the sender's: outside the first form's signature, and given
// back as source_event_id. What makes two posts one event is the booking's id,
// the type, occurred_at and the body.
//
// A body is
//
//	{"type": "booking.requested" | "invitee.created" | "booking.moved" | "invitee.canceled",
//	 "occurred_at": "2026-11-03T15:00:00Z",
//	 "booking": {"id", "session"?, "supersedes"?, "title"?, "location"?, "resource",
//	             "starts_at", "ends_at", "invitee": {"name", "email", "phone"?, "timezone"?}, "capacity"?}}
//
// A resource is an e-mail, the same resource as that person's with any other
// provider, or a name, a resource of this connection. A cancel needs no more than
// the booking's id; a move needs no resource. "selftest" is accepted and ignored.
package generic
