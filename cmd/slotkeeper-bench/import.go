package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"slotkeeper/providers/calcom/calcomtest"
)

// The phases of imports: posts at a steady rate, without and while an account's
// bookings are brought in.
const (
	importQuiet = ", posts at a steady rate before an import"
	importAcks  = ", the same while an account is imported"
)

const (
	imported = 5_000 // bookings
	// importTempo lets a minute at the provider take a second: the limits of its API
	// keep an import slower than that wherever it is run for real.
	importTempo = 60
	importKey   = "cal_live_0123456789abcdef01234567"
	importType  = 7
	importWait  = 5 * time.Minute
)

// imports measures what the import of an account costs those who post meanwhile.
func (b *bench) imports(ctx context.Context) error {
	return errors.Join(b.importsOn(ctx, postgresKind, "imported"), b.importsOn(ctx, sqliteKind, ""))
}

func (b *bench) importsOn(ctx context.Context, kind, name string) error {
	return b.eachRound(kind+", import", func(_ int, r map[phase]figures) (err error) {
		c, err := bookedAccount(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		at, err := url.Parse(c.APIBase())
		if err != nil {
			return err
		}
		s, err := b.fresh(ctx, name, "SLOTKEEPER_ALLOW_PRIVATE_HOSTS="+at.Host, "SLOTKEEPER_TEMPO="+strconv.Itoa(importTempo))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.end(ctx, s, name)) }()
		if err := b.warm(ctx, s); err != nil {
			return err
		}
		err = b.beside(ctx, s, phase{kind + importQuiet, several}, phase{kind + importAcks, several}, r, func() error {
			_, err := b.command(ctx, &s.installation, "connect", "calcom", "--api-url", c.APIBase(), "--api-token", importKey,
				"--backfill", time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly))
			return err
		}, func() (string, error) { return b.importField(ctx, s, "status") })
		if err != nil {
			return err
		}
		return b.broughtIn(ctx, s)
	})
}

// bookedAccount is a stand-in's account with bookings one after the other.
func bookedAccount(ctx context.Context) (*calcomtest.Server, error) {
	c := calcomtest.New(calcomtest.Options{
		Key: importKey, Tempo: importTempo, Now: time.Now,
		User: calcomtest.Host{ID: 11, Name: "Maren Oduya", Email: "maren.oduya@harbourclinic.example", Username: "maren", Timezone: "UTC"},
	})
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	c.AddEventType(calcomtest.EventType{ID: importType, Slug: "first", Title: "First visit", Minutes: 30, Location: "Room 1"})
	first := time.Now().UTC().Truncate(time.Hour).Add(24 * time.Hour)
	for n := range imported {
		guest := calcomtest.Person{Name: fmt.Sprintf("Visitor %d", n), Email: fmt.Sprintf("visitor.%d@mail.example", n), Timezone: "Europe/Berlin"}
		if _, _, err := c.Book(importType, guest, first.Add(time.Duration(n)*time.Hour)); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

func (b *bench) importField(ctx context.Context, s *server, column string) (string, error) {
	return b.query(ctx, s, "SELECT "+column+" FROM runs WHERE kind = 'backfill'")
}

// broughtIn waits for the import to end and looks whether all came in.
func (b *bench) broughtIn(ctx context.Context, s *server) error {
	err := b.until(ctx, importWait, "import", func() (bool, error) {
		status, err := b.importField(ctx, s, "status")
		return status != "running", err
	})
	if err != nil {
		return err
	}
	got, err := b.importField(ctx, s, "CASE WHEN status = 'done' THEN at_provider ELSE -1 END")
	if err == nil && got != strconv.Itoa(imported) {
		err = fmt.Errorf("%s of %d bookings were imported", got, imported)
	}
	return err
}

// importGoals ask an import to keep nobody waiting.
func importGoals() []goal {
	var out []goal
	for _, kind := range []string{postgresKind, sqliteKind} {
		out = append(out, slowestTwice("p99 of posts while an account is imported, "+kind, " times without",
			phase{kind + importAcks, several}, phase{kind + importQuiet, several}))
	}
	return out
}
