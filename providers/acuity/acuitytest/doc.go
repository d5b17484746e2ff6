// Package acuitytest plays Acuity Scheduling: its API over HTTP and its webhooks,
// with calendars, appointments and classes that are booked, moved and canceled. It
// serves tests and the demo. What it does is what package acuity and its sources
// say; grades as in package apitest.
//
//   - Basic authentication of a numeric user id and an API key, or an app's token;
//     401 else (OFF): SetKey takes a key away. The way to a token is the documented
//     one, scope api-v1, all in the form (OFF); tokens do not expire (UNV).
//   - 10 requests a second and 20 connections by address; 429 beyond (OFF), in JSON
//     without Retry-After. Whether it counts in a bucket or a window is UNV: this
//     one is a bucket of 10.
//   - 403 with a page means a limit too (REC): trouble Blocked.
//   - An appointment is answered with all that the real one has (REC), so that what
//     must not be kept is there to be left out; canceled ones are answered too (TP).
//   - One action at Acuity sends its own hook and "changed" beside it (OFF), each as
//     often as hooks are set up; the order is not documented, here "changed" is last.
//   - Hooks made in the pages send "scheduled", those made over the API
//     "appointment.scheduled" (REC).
//   - A move keeps id and time of booking (REC). Canceled is final; only noShow may
//     change then (OFF). No-show is a cancel (OFF). Whether a later change of noShow
//     sends a hook is UNV: here it sends "changed".
//   - Overlaps on a calendar are possible (REC), and nothing refuses them.
//   - Lists of appointments have the documented filters, 100 at most, the last
//     first, and no pages (OFF). That a larger max changes nothing is UNV.
//   - Hooks over the API: one event, one address, 25 an account, 400 past that,
//     ports 443 and 80 (OFF), 204 when removed (TP). They sign with the API key and
//     add up with those of the pages (OFF). Which text the refusals have is UNV.
//   - An administrator cancels whatever the rules for clients say (OFF); what is
//     canceled is refused as cancel_not_allowed (the code OFF, its use INF). The
//     posts that follow wait in Due, and Scatter puts them in any order and number.
//   - Blocks are listed by their beginning (UNV) in the calendar's zone (REC).
//   - An unknown appointment is 404 in JSON (REC). Nothing deletes one, but Acuity
//     may (INF): Remove.
//   - A post is tried again after 5xx and when there was no answer, for 24 hours (TP).
package acuitytest
