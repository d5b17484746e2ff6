// Package calcom reads the webhooks of Cal.com, hosted or self-hosted.
//
// What it leans on was read in Cal.com's own server code and in its
// documentation, under "Webhooks" and "Webhook payload":
//
//   - The header X-Cal-Signature-256 is the hex HMAC-SHA256 of the raw body; a
//     webhook without a secret sends "no-secret-provided" instead. Nothing in it
//     grows old: copies are known by their event key alone.
//   - Bodies are {triggerEvent, createdAt, payload}; MEETING_STARTED and
//     MEETING_ENDED are flat. A custom payload template replaces all of it, and
//     its content type may be wrong: the body is what counts.
//   - A booking's uid is its identity. Of a seated event one uid stands for
//     several attendees, each told of in a body of their own; only what is
//     stored can tell, so events name the uid and list who the body lists.
//   - A reschedule is one BOOKING_RESCHEDULED (or, where the host must confirm,
//     BOOKING_REQUESTED) with a new uid and the old one as rescheduleUid; nothing
//     is sent about the old one. Moved in place, both are equal.
//   - status says what the trigger stands for, not what is stored there:
//     BOOKING_PAYMENT_INITIATED says ACCEPTED of a booking that is not paid.
//   - Bodies about a confirmed, declined or canceled booking may list only one of
//     several hosts; a confirming BOOKING_CREATED is told by its want of
//     seatsPerTimeSlot.
//   - Times come in four spellings of RFC 3339, and may be "" in a cancel.
package calcom
