// Package acuitytest plays Acuity Scheduling: its API over HTTP and its webhooks,
// with calendars, appointments and classes that are booked, moved and canceled. It
// serves tests and the demo. What it does is what package acuity and its sources
// say; grades as in package apitest.
//
//   - Basic authentication of a numeric user id and an API key; 401 else (OFF).
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
//   - An unknown appointment is 404 in JSON (REC). Nothing deletes one, but Acuity
//     may (INF): Remove.
//   - A post is tried again after 5xx and when there was no answer, for 24 hours (TP).
package acuitytest
