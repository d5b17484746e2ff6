// Package calendly reads the webhooks of Calendly's API v2, and asks that API.
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
//
// And of the API, under "API reference" and "Authorization scopes":
//
//   - Requests are counted by user and minute, 500 on a paid plan, 50 on a free one;
//     every answer has X-RateLimit-Reset, the seconds until the minute is over.
//   - The organization's events, members and subscriptions are for its owner and its
//     administrators; everybody else has his own.
//   - Events are listed by their beginning, without their invitees, and the invitees
//     of one event without the event: what a webhook has in one body is put together
//     of two answers.
//   - A subscription's key can be set and never be read; a disabled one cannot be
//     enabled; of one user no two may have the same URL. Those made for an OAuth app
//     are signed with the app's key, which stands in the developer portal.
//   - Canceling is for a whole event. There is nothing for one invitee.
//   - Calendly has no page to enter a webhook: where the API refuses to make one,
//     somebody else's token has to.
package calendly
