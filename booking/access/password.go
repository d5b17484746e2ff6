package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"slotkeeper/booking"
)

// Passwords are at least MinPassword characters long, as NIST SP 800-63B asks,
// and no other rule: rules of composition make worse passwords. The upper bound
// keeps a form from being a way to make us hash megabytes.
const (
	MinPassword = 8
	maxPassword = 1024
)

// argon2id as OWASP's password storage cheat sheet lists it first: 46 MiB, one
// pass, one lane. A hash takes some 50 ms, and as many run at once as there are
// processors, so that sign-ins cannot take all memory.
const (
	argonMemory  = 46 * 1024 // KiB
	argonTime    = 1
	argonThreads = 1
	saltSize     = 16
	hashSize     = 32

	// A stored hash that asks for more is not one of ours.
	maxMemory = 1 << 20 // KiB
	maxTime   = 16
)

var errPasswordHash = errors.New("the stored password hash cannot be read")

// hasher bounds how many hashes are made at once.
type hasher struct {
	seats chan struct{}
}

func newHasher() *hasher { return &hasher{seats: make(chan struct{}, runtime.GOMAXPROCS(0))} }

func (h *hasher) key(ctx context.Context, password string, p params) ([]byte, error) {
	select {
	case h.seats <- struct{}{}:
		defer func() { <-h.seats }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return argon2.IDKey([]byte(fold(password)), p.salt, p.time, p.memory, p.threads, hashSize), nil
}

// fold gives one spelling to what looks the same: keyboards compose accents
// differently.
func fold(password string) string { return norm.NFKC.String(password) }

// hash makes the PHC string of a password.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	p := params{memory: argonMemory, time: argonTime, threads: argonThreads, salt: make([]byte, saltSize)}
	_, _ = rand.Read(p.salt) // never fails; it ends the process rather
	key, err := h.key(ctx, password, p)
	if err != nil {
		return "", err
	}
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memory, p.time, p.threads, b64(p.salt), b64(key)), nil
}

// nobody is compared where there is no password to compare, so that an unknown
// name takes as long as a known one. Nothing hashes to it.
var nobody = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
	base64.RawStdEncoding.EncodeToString(make([]byte, saltSize)), base64.RawStdEncoding.EncodeToString(make([]byte, hashSize)))

// matches compares in constant time, against nobody when stored is "".
func (h *hasher) matches(ctx context.Context, stored, password string) (bool, error) {
	known := stored != ""
	if !known {
		stored = nobody
	}
	p, want, err := parsePHC(stored)
	if err != nil {
		return false, err
	}
	got, err := h.key(ctx, password, p)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1 && known, nil
}

type params struct {
	memory, time uint32
	threads      uint8
	salt         []byte
}

func parsePHC(s string) (p params, key []byte, err error) {
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return p, nil, errPasswordHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memory, &p.time, &p.threads); err != nil {
		return p, nil, errPasswordHash
	}
	p.salt, err = base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return p, nil, errPasswordHash
	}
	key, err = base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(key) != hashSize || len(p.salt) < saltSize ||
		p.memory == 0 || p.memory > maxMemory || p.time == 0 || p.time > maxTime || p.threads == 0 {
		return p, nil, errPasswordHash
	}
	return p, key, nil
}

func checkPassword(name, password string) error {
	invalid := func(detail string) error { return &booking.InvalidError{Field: "password", Detail: detail} }
	switch {
	case len(password) > maxPassword:
		return invalid(fmt.Sprintf("a password has at most %d bytes", maxPassword))
	case !utf8.ValidString(password):
		return invalid("a password is UTF-8 text")
	case utf8.RuneCountInString(fold(password)) < MinPassword:
		return invalid(fmt.Sprintf("a password has at least %d characters", MinPassword))
	case strings.EqualFold(password, name):
		return invalid("a password is not the user's name")
	}
	return nil
}
