// Package calendlytest plays Calendly: its API over HTTP, its OAuth endpoints and its
// signed webhooks, those of before 2023 too, which leave the scheduled event out. An
// organization has users, events of one or more hosts, and invitees who book, move,
// cancel and do not come. It serves tests and the demo. What it does is what package
// calendly and its sources say; grades as in package apitest.
//
// Access:
//   - Bearer tokens; 401 with a title and a message else, which tells unknown tokens
//     from expired and revoked ones (OFF). Personal ones last until they are revoked
//     (UNV), those of an app two hours (OFF).
//   - 500 requests a minute on paid plans and 50 on free ones, counted by user; every
//     answer has X-RateLimit-Limit, -Remaining and -Reset, the last in seconds (OFF).
//     That it counts in windows is UNV.
//   - The authorize endpoint sends the browser back with a code for ten minutes (OFF),
//     as if the user had consented at once. A refresh token serves once (OFF); eight
//     token requests a minute by user (OFF). Errors there have error and
//     error_description (OFF).
//   - What is the organization's is for owner and administrators (OFF), its members
//     too (INF).
//
// Answers:
//   - {"resource": …} of one, {"collection": …, "pagination": …} of many, by count (20
//     unasked, 100 at most) and page_token (OFF). 400, 403, 404 and 409 have a title
//     and a message, 400 details by parameter too (OFF).
//   - Events are filtered by whose they are, state and beginning (OFF); that bounds
//     are counted in is UNV. An invitee is answered without the event (OFF).
//   - Events have join links and passwords in their location (REC), so that what must
//     not be kept is there to be left out.
//
// Webhooks:
//   - Subscriptions are made, read and deleted, never changed; of one user no two have
//     the same URL (409); a plan may have none (403); the key is never told (OFF). A
//     user's own get what he hosts (INF). Those of an app are signed with its key
//     (OFF), whatever they were made with (INF); without a key nothing is signed (INF).
//   - A move is a canceled and a created post; both event and invitee get new URIs; the
//     old one names its successor, the new one its predecessor (OFF). Their order is
//     not documented: posts are given to whoever sends them, in what order he likes.
//   - Each invitee of a group has a URI below the event's and posts of his own (OFF).
//     One who leaves does not end the event (INF), the last does (UNV). Canceling the
//     event, by its host or over the API, sends a post for each who was coming (INF).
//   - A no-show leaves the invitee active (OFF) and moves the time of change (INF).
//   - A post is tried again after anything but 2xx, for 24 hours; then the subscription
//     is disabled, without a notice. 410 deletes it at once (OFF).
//   - Bodies of before January 2023 have a boolean "canceled" and no scheduled_event
//     (REC): SetHook sends those, beside what was subscribed over the API.
package calendlytest
