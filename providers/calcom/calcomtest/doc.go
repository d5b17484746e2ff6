// Package calcomtest plays Cal.com: API v2 over HTTP and its webhooks, with
// bookings that are made, confirmed, moved and canceled. It serves tests and the
// demo. What it does is what package calcom and its sources say. Grades: B read in
// the server code that Cal.com publishes, R in a public copy of its repository, D
// in documents there, W a documentation page, M from memory, INF inferred.
//
//   - A key as Bearer; 401 else, in JSON (W).
//   - 120 requests in 60 seconds a key, X-RateLimit-Limit, -Remaining and -Reset
//     with a name on every answer (W); 429 beyond, whose body is INF. Whether it
//     counts in a bucket or a window is not known: this one is a bucket.
//   - cal-api-version chooses the shape: bookings 2024-08-13, event types
//     2024-06-14; another or none is answered with another shape and 200 (W; which
//     shape is M).
//   - Answers are {status, data}, errors {status, timestamp, path, error{code,
//     message}} (R).
//   - Webhooks: list, make, read, change, delete; one a user and URL, 409 else (R);
//     an unknown trigger is 400 for the whole list (R). Some versions tell the
//     secret, some do not (R; Options.HideSecrets). Option NoWebhooks is an API
//     that has none (INF).
//   - Bookings: statuses, afterStart by the beginning, beforeEnd by the end, take of
//     at most 250 and skip (R), pagination as R. One host is named, whoever else
//     takes part; a team's others stand among the attendees (R). Attendees with
//     seats have a seatUid, those of the team none (R). location is the meeting's
//     link where there is one (R).
//   - The uid of a series is answered with an array (R).
//   - cancel: a host gives a reason, 400 else (B); again is 400 "already been
//     cancelled" (B); what has ended is 400 (D); a seat that is gone is 400 (R); a
//     seat's cancel with a reason is 400 in some versions (R;
//     Options.SeatsWithoutReason).
//   - A cancel's webhook is sent, and its answer awaited, before the state changes
//     (B): Options.Deliver, and the function that Cancel returns.
//   - A move makes a new uid and one BOOKING_RESCHEDULED, or BOOKING_REQUESTED where
//     the host must confirm; nothing is sent about the old one (B).
//   - A series is one BOOKING_CREATED for each of its bookings, without the
//     series' id (B).
//   - Seats: the body about one lists the newcomer or the leaver alone, with the
//     uid of all (B). One who moves leaves the old booking to the others; the last
//     cancels it silently (B).
//   - Another host or place sends nothing (B).
//   - A post is sent once and never again (B), to every active webhook that wants
//     its trigger, each with a createdAt of its own (B).
package calcomtest
