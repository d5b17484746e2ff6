package vault_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"slotkeeper/booking/vault"
)

func fixed(b byte) []byte { return bytes.Repeat([]byte{b}, vault.KeySize) }

func newVault(t *testing.T, key []byte) *vault.Vault {
	t.Helper()
	v, err := vault.New(key)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	v := newVault(t, fixed(1))
	for _, plain := range [][]byte{nil, {}, []byte("whsec_1"), bytes.Repeat([]byte("x"), 1<<20)} {
		sealed := v.Seal(plain, "connection:1")
		if len(plain) > 4 && bytes.Contains(sealed, plain) {
			t.Error("sealed holds the plain text")
		}
		got, err := v.Open(sealed, "connection:1")
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("Open = %d bytes, %v; want %d bytes", len(got), err, len(plain))
		}
		if bytes.Equal(sealed, v.Seal(plain, "connection:1")) {
			t.Error("sealing twice gave the same bytes")
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	v, other := newVault(t, fixed(1)), newVault(t, fixed(2))
	sealed := v.Seal([]byte("secret"), "a")
	flipped := func(i int) []byte {
		b := bytes.Clone(sealed)
		b[i] ^= 1
		return b
	}
	tests := []struct {
		name    string
		vault   *vault.Vault
		sealed  []byte
		context string
		want    error
	}{
		{"another key", other, sealed, "a", vault.ErrWrongKey},
		{"another context", v, sealed, "b", vault.ErrAltered},
		{"no context", v, sealed, "", vault.ErrAltered},
		{"version", v, flipped(0), "a", vault.ErrAltered},
		{"key id", v, flipped(1), "a", vault.ErrWrongKey},
		{"nonce", v, flipped(5), "a", vault.ErrAltered},
		{"text", v, flipped(17), "a", vault.ErrAltered},
		{"tag", v, flipped(len(sealed) - 1), "a", vault.ErrAltered},
		{"cut", v, sealed[:len(sealed)-1], "a", vault.ErrAltered},
		{"head only", v, sealed[:5], "a", vault.ErrAltered},
		{"empty", v, nil, "a", vault.ErrAltered},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := tt.vault.Open(tt.sealed, tt.context); !errors.Is(err, tt.want) || got != nil {
				t.Errorf("Open = %q, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func TestNewRefusesOtherSizes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 16, 31, 33} {
		if _, err := vault.New(make([]byte, n)); err == nil {
			t.Errorf("a key of %d bytes was taken", n)
		}
	}
}

func TestKeyFromText(t *testing.T) {
	t.Parallel()
	key := fixed(0xfb) // gives + and / in base64, so that both alphabets are tried
	for name, s := range map[string]string{
		"base64":          base64.StdEncoding.EncodeToString(key),
		"raw base64":      base64.RawStdEncoding.EncodeToString(key),
		"url base64":      base64.URLEncoding.EncodeToString(key),
		"raw url base64":  base64.RawURLEncoding.EncodeToString(key),
		"hex":             hex.EncodeToString(key),
		"upper-case hex":  strings.ToUpper(hex.EncodeToString(key)),
		"with line break": base64.StdEncoding.EncodeToString(key) + "\n",
	} {
		if got, err := vault.KeyFromText(s); err != nil || !bytes.Equal(got, key) {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
	for name, s := range map[string]string{
		"empty":         " ",
		"passphrase":    "correct horse battery staple",
		"short hex":     hex.EncodeToString(key[:16]),
		"short base64":  base64.StdEncoding.EncodeToString(key[:24]),
		"long":          base64.StdEncoding.EncodeToString(append(key, 1)),
		"hex and rest":  hex.EncodeToString(key) + "!",
		"inner padding": "AAAA=AAA",
	} {
		got, err := vault.KeyFromText(s)
		if err == nil {
			t.Errorf("%s: taken as %x", name, got)
		} else if s != " " && strings.Contains(err.Error(), s) {
			t.Errorf("%s: the error quotes the key: %v", name, err)
		}
	}
}

func TestKeyFileIsMadeOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	keys := make([][]byte, 8)
	made := make([]bool, len(keys))
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			var err error
			if keys[i], made[i], err = vault.KeyFile(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	makers := 0
	for i := range keys {
		if !bytes.Equal(keys[i], keys[0]) {
			t.Errorf("start %d has another key", i)
		}
		if made[i] {
			makers++
		}
	}
	if makers != 1 {
		t.Errorf("%d starts say that they made the key", makers)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %04o", info.Mode().Perm())
	}
	if rest, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".key-*")); len(rest) != 0 {
		t.Errorf("left behind: %v", rest)
	}
}

func TestKeyFileRefuses(t *testing.T) {
	t.Parallel()
	good := base64.StdEncoding.EncodeToString(fixed(7))
	tests := []struct {
		name, text string
		mode       os.FileMode
		want       string
	}{
		{"readable by others", good, 0o644, "chmod 600"},
		{"readable by the group", good, 0o640, "chmod 600"},
		{"empty", "", 0o600, "empty"},
		{"junk", "hello", 0o600, "base64"},
		{"not a key", strings.Repeat("A", 2000), 0o600, "not a key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "k")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			if _, _, err := vault.KeyFile(path); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, _, err := vault.KeyFile(filepath.Join(t.TempDir(), "no", "where")); err == nil {
		t.Error("a key was made in a directory that does not exist")
	}
}

func TestEmailKey(t *testing.T) {
	t.Parallel()
	a := vault.EmailKey(fixed(1), "Rina.Hartono@Example.com ")
	if len(a) != 32 {
		t.Errorf("%q: 128 bits in hex have 32 digits", a)
	}
	if b := vault.EmailKey(fixed(1), "rina.hartono@example.com"); a != b {
		t.Errorf("spelling matters: %s, %s", a, b)
	}
	if b := vault.EmailKey(fixed(2), "rina.hartono@example.com"); a == b {
		t.Error("the pepper does not matter")
	}
	if got := vault.EmailKey(fixed(1), " "); got != "" {
		t.Errorf("no e-mail has the key %q", got)
	}
}
