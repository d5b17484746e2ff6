// Package calendlytest plays the part of Calendly that Slotkeeper reads from: the
// API's reads of a scheduled event and of an invitee, and signed webhooks, those of
// before 2023 too, which leave the scheduled event out. What it does is what
// package calendly and its sources say; grades as in package apitest.
//
//   - Bearer authentication; 401 with a title and a message else (OFF).
//   - 500 requests a minute on paid plans, counted by user; 429 beyond, with
//     X-RateLimit-Limit, -Remaining and -Reset, the last in seconds (OFF).
//   - A single thing is answered as {"resource": …}; 404 has a title and a message
//     (OFF). An invitee is answered without its event (OFF).
//   - The event has join links and passwords in its location (REC), so that what
//     must not be kept is there to be left out.
//   - Bodies of before January 2023 have a boolean "canceled" and no
//     scheduled_event (REC).
//   - A move is a canceled and a created post; the new event has a new URI, the old
//     body names its successor and the new one its predecessor (OFF).
//   - A post is tried again after anything but 2xx, for 24 hours (OFF).
package calendlytest
