// Package account connects accounts of providers and keeps them connected: it
// says whose they are, has their webhooks registered, reads what is booked there
// and has it applied like any delivery, and notices when an account can no longer
// be asked. It knows no provider by name and no SQL; jobs and pages call it.
package account
