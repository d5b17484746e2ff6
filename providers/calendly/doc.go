// Package calendly reads the webhooks of Calendly's API v2.
//
// What it leans on is in Calendly's developer documentation, under "Webhook
// payload", "Webhook signatures" and "Receive data from scheduled events in
// real time with webhook subscriptions":
//
//   - The header Calendly-Webhook-Signature is t=<unix seconds>,v1=<hex>, an
//     HMAC-SHA256 over "<t>.<raw body>" under the signing key taken as text.
//   - A delivery is repeated for 24 hours, and nothing says that a repeated one
//     is signed anew: hence DefaultTolerance. Copies do no harm, for the event
//     key of what was received stays known.
//   - One post is about one invitee. Its URI is the booking's identity, the
//     scheduled event's URI the session's; hosts in URIs differ between samples
//     and captures, so they are compared by path.
//   - The envelope's created_at is the time of sending and may lie before or
//     after the change; payload.updated_at is the change's.
//   - A reschedule is two posts in any order: a canceled one with new_invitee and
//     a created one with old_invitee.
//   - invitee_no_show.deleted has the shape of created: only its name tells.
//   - Bodies before 2023 have no scheduled_event: the rest must be fetched. Bodies
//     of webhooks v1, retired on 27 August 2025, have invitee and event objects.
//   - It never answers 410: that deletes the subscription at once.
package calendly
