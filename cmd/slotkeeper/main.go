// Command slotkeeper takes bookings in from Calendly, Cal.com and whoever signs
// as the generic provider, and keeps one slot calendar of them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // a static binary finds no zones on a bare machine
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], environment{os.Getenv, os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}
