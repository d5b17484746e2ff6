package access

import (
	"context"
	"errors"
	"strings"
	"testing"

	"slotkeeper/booking"
)

func TestPasswordHash(t *testing.T) {
	t.Parallel()
	ctx, h := t.Context(), newHasher()
	stored, err := h.hash(ctx, "correct horse é")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(stored, "$argon2id$v=19$m=47104,t=1,p=1$") {
		t.Errorf("not a PHC string of our parameters: %s", stored)
	}
	tests := []struct {
		name, stored, password string
		want                   bool
	}{
		{"right", stored, "correct horse é", true},
		{"composed otherwise", stored, "correct horse e\u0301", true},
		{"wrong", stored, "correct horse e", false},
		{"empty", stored, "", false},
		{"unknown user", "", "correct horse é", false},
		{"unknown user, empty", "", "", false},
		{"other parameters", "$argon2id$v=19$m=64,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$" + strings.Repeat("A", 43), "x", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := h.matches(ctx, tt.stored, tt.password)
			if err != nil || got != tt.want {
				t.Errorf("matches = %v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func TestPasswordHashIsSalted(t *testing.T) {
	t.Parallel()
	h := newHasher()
	a, errA := h.hash(t.Context(), "same password")
	b, errB := h.hash(t.Context(), "same password")
	if errA != nil || errB != nil || a == b {
		t.Errorf("%q, %q, %v, %v", a, b, errA, errB)
	}
}

func TestPasswordHashThatIsNotOurs(t *testing.T) {
	t.Parallel()
	salt, key := strings.Repeat("A", 22), strings.Repeat("A", 43)
	for _, stored := range []string{
		"plain", "$2a$10$abc", "$argon2i$v=19$m=64,t=1,p=1$" + salt + "$" + key,
		"$argon2id$v=16$m=64,t=1,p=1$" + salt + "$" + key,
		"$argon2id$v=19$m=9999999,t=1,p=1$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=0,p=1$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=99999,p=1$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=1,p=0$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=1,p=1$!!$" + key,
		"$argon2id$v=19$m=64,t=1,p=1$" + salt + "$AAAA",
		"$argon2id$v=19$m=64,t=1,p=1$AAAA$" + key,
	} {
		if ok, err := newHasher().matches(t.Context(), stored, "x"); ok || !errors.Is(err, errPasswordHash) {
			t.Errorf("%s: %v, %v", stored, ok, err)
		}
	}
}

func TestHasherWaitsNoLongerThanItsCaller(t *testing.T) {
	t.Parallel()
	h := &hasher{seats: make(chan struct{})} // no seat is ever free
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := h.hash(ctx, "password"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestCheckPassword(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, password, want string
	}{
		{"long enough", "12345678", ""},
		{"characters, not bytes", "éééééééé", ""},
		{"short", "1234567", "at least 8"},
		{"short in characters", "éééé", "at least 8"},
		{"empty", "", "at least 8"},
		{"long", strings.Repeat("x", 1025), "at most"},
		{"the name", "Rina.Hartono", "name"},
		{"not text", "12345678\xff", "UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := checkPassword("rina.hartono", tt.password)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var invalid *booking.InvalidError
			if !errors.As(err, &invalid) || invalid.Field != "password" || !strings.Contains(invalid.Detail, tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
