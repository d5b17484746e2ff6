package vault

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// NewKey draws a key.
func NewKey() []byte {
	key := make([]byte, KeySize)
	_, _ = rand.Read(key) // never fails; it ends the process rather
	return key
}

// KeyFromText reads a key as people write it: 64 hexadecimal digits, or 32
// bytes in base64, standard or URL-safe, padded or not. Errors never quote it.
func KeyFromText(s string) ([]byte, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, errors.New("the key is empty")
	}
	if key, err := hex.DecodeString(s); err == nil {
		return sized(key, "hexadecimal")
	}
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	key, err := base64.RawStdEncoding.DecodeString(plain)
	if err != nil {
		return nil, fmt.Errorf("the key is neither base64 nor hexadecimal: make one with `openssl rand -base64 %d`", KeySize)
	}
	return sized(key, "base64")
}

func sized(key []byte, encoding string) ([]byte, error) {
	if len(key) != KeySize {
		return nil, fmt.Errorf("the key is %d bytes in %s, not %d: make one with `openssl rand -base64 %d`", len(key), encoding, KeySize, KeySize)
	}
	return key, nil
}

// KeyFile reads the key in a file, or makes the file with a new key when there
// is none (made is then true). The directory must exist. A file that others
// than its owner may read is refused: what it protects lies beside it.
func KeyFile(path string) (key []byte, made bool, err error) {
	key, err = readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	if err := makeKeyFile(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, false, fmt.Errorf("key file: %w", err)
	} else if err == nil {
		made = true
	}
	// Read it back even when another process was first: theirs is the key.
	key, err = readKey(path)
	return key, made, err
}

// makeKeyFile appears whole or not at all: a link is made only once the bytes
// are on disk, and only where nothing stands.
func makeKeyFile(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(NewKey()) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

func readKey(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // G304: the operator names the file
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("key file: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > 1024 {
		return nil, fmt.Errorf("key file %s: not a key", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("key file %s: others may read it (mode %04o): `chmod 600` it, and change the key if they did", path, info.Mode().Perm())
	}
	text := make([]byte, info.Size())
	if _, err := f.ReadAt(text, 0); err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	key, err := KeyFromText(string(text))
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return key, nil
}
