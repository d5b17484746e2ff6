// Package acuity reads the webhooks of Acuity Scheduling (Squarespace), fetches
// the appointments that they are about, and asks its API whose account it is, what
// is booked and what is blocked, sets the webhooks up and cancels.
//
// What it leans on is in Acuity's developer documentation, under "Webhooks",
// "Appointments", "Calendars" and "OAuth2", and in answers of its API recorded in
// public repositories:
//
//   - A post is a form of action, id, calendarID and appointmentTypeID: no time,
//     no event id, no state. Two moves of one appointment are the same bytes. So
//     every post means only "look again", and the appointment is fetched.
//   - Hooks made in Acuity's pages say "scheduled", those made over the API
//     "appointment.scheduled". "changed" comes beside each of the others, and for
//     edits that move nothing.
//   - X-Acuity-Signature is the padded base64 HMAC-SHA256 of the raw body under an
//     API key: the main administrator's for hooks made in the pages, the maker's
//     for those made over the API.
//   - An appointment keeps its id when it moves, also to another calendar, and has
//     neither version nor time of change: what orders two answers is when we asked
//     (the ticket). Canceled is final; a no-show is a canceled appointment whose
//     noShow may be set or taken back later.
//   - datetime has an offset without a colon, in the calendar's zone. timezone is
//     the client's, for display. date, time and endTime are texts in the account's
//     format and never read; the end is datetime and duration.
//   - Each attendee of a class has an own appointment. classID is null for others.
//   - confirmationPage lets whoever has it cancel: it is not kept. Neither are
//     forms and notes, which hold what clients tell their therapist, but where
//     somebody had them kept (forms.go). Lists leave forms out when asked to
//     (excludeForms); whether they leave notes out with them is not documented.
//   - A list has at most 100 appointments unless asked for more, by date, calendar
//     and type, from either end, and no pages. Whether it would have more is not
//     documented, so a full one is never taken for the whole (dayReader).
//   - A hook made over the API is for one event and one address; an account has
//     room for 25, nothing changes one, and a disabled one stays so. Who made it,
//     and thus which key signs, is not told.
//   - Blocks have no webhook. How one that recurs is listed is not documented.
//   - A cancellation by an administrator passes over the rules for clients. What
//     becomes of a second one is not documented, so we look first.
//   - The API allows 10 requests a second and 20 connections for each address,
//     whichever account asks. Past that it answers 429, or 403 with a page.
package acuity
