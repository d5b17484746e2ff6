// Package calcom reads the webhooks of Cal.com, hosted or self-hosted, and asks
// its API v2.
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
//
// Of the API (read in Cal.com's public repository, apps/api/v2):
//
//   - cal-api-version chooses the shape of an answer; bookings are read as of
//     2024-08-13. The list filters by the beginning and by the end, never by the
//     beginning alone.
//   - A booking names one host. A team's others stand among its attendees, after
//     the booker and the guests, who are named a second time. How many seats
//     there are only the event type says; how many there are not, nothing.
//   - What was moved has the uid of its successor, but in a series: there only the
//     successor tells.
//   - A cancel is told by webhook before it is stored: what is read right after one
//     may still say accepted.
//   - A user has one webhook for a URL. Its secret is told by some versions only,
//     so that what stands is given ours. An unknown trigger refuses the whole list.
package calcom
