// Package vault seals what must not lie in the database in clear: the secrets
// of connections and the raw bodies of webhooks. It holds one key and knows
// nothing of where sealed bytes are kept.
//
// A sealed value is one byte of format version, four bytes that name the key,
// then AES-256-GCM's nonce, ciphertext and tag. The key's name lets a reader
// tell "sealed under another key" from "altered", and lets a change of keys
// find what is still sealed under the old one. The context is authenticated but
// not stored: a value sealed for one row does not open for another.
package vault

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"slotkeeper/booking"
)

// KeySize is the length of a key in bytes.
const KeySize = 32

const (
	version   = 1
	keyIDSize = 4
	headSize  = 1 + keyIDSize
)

// HeadSize is how many bytes at the beginning of a sealed value name its format
// and its key.
const HeadSize = headSize

// ErrWrongKey says that a value was sealed under another key.
var ErrWrongKey = errors.New("sealed under another key")

// ErrAltered says that a value was sealed under this key but is not what was
// sealed, or belongs to another context.
var ErrAltered = errors.New("sealed value is altered or out of its context")

// Vault seals and opens under one key. It is safe for concurrent use.
type Vault struct {
	head []byte // version and key id
	aead cipher.AEAD
}

// New makes a vault of a key of KeySize bytes.
func New(key []byte) (*Vault, error) {
	if len(key) != KeySize {
		return nil, fmt.Errorf("vault: a key has %d bytes, this one %d", KeySize, len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("vault: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("vault: %w", err)
	}
	id := mac(key, "slotkeeper key id")
	return &Vault{head: append([]byte{version}, id[:keyIDSize]...), aead: aead}, nil
}

// Seal encrypts plain for one context, for example "connection:<id>:current".
// Every call gives other bytes. Nonces are random: a key is good for some four
// billion values.
func (v *Vault) Seal(plain []byte, context string) []byte {
	out := make([]byte, headSize, headSize+len(plain)+v.aead.Overhead())
	copy(out, v.head)
	return v.aead.Seal(out, nil, plain, v.additional(context))
}

// Open gives back what Seal was given for the same context, ErrWrongKey for
// what another key sealed, or ErrAltered.
func (v *Vault) Open(sealed []byte, context string) ([]byte, error) {
	switch {
	case len(sealed) < headSize:
		return nil, fmt.Errorf("vault: %w: %d bytes are too few", ErrAltered, len(sealed))
	case sealed[0] != version:
		return nil, fmt.Errorf("vault: %w: format version %d is unknown", ErrAltered, sealed[0])
	case !bytes.Equal(sealed[:headSize], v.head):
		return nil, fmt.Errorf("vault: %w", ErrWrongKey)
	}
	plain, err := v.aead.Open(nil, nil, sealed[headSize:], v.additional(context))
	if err != nil {
		return nil, fmt.Errorf("vault: %w", ErrAltered)
	}
	return plain, nil
}

// Sealed tells whether the value was sealed under this vault's key, as its name
// says; Open proves it.
func (v *Vault) Sealed(value []byte) bool { return bytes.HasPrefix(value, v.head) }

// Head is what every value begins with that this vault seals.
func (v *Vault) Head() []byte { return bytes.Clone(v.head) }

// SameKey tells whether another vault has the same key.
func (v *Vault) SameKey(o *Vault) bool { return bytes.Equal(v.head, o.head) }

// additional binds the head too, so that neither version nor key id can be
// exchanged.
func (v *Vault) additional(context string) []byte {
	return append(bytes.Clone(v.head), context...)
}

// EmailKey stands for an e-mail in identities and event keys, so that neither
// holds the address: 128 bits of its HMAC under the installation's pepper, in
// hex. Spelling does not matter; no e-mail has no key. What stands in the place
// of an e-mail that was erased has the key that this had.
func EmailKey(pepper []byte, email string) string {
	email = booking.NormalizeEmail(email)
	if email == "" {
		return ""
	}
	if key, ok := strings.CutSuffix(email, booking.ErasedDomain); ok && len(key) == 32 {
		return key
	}
	return hex.EncodeToString(mac(pepper, email)[:16])
}

// ErasedEmail stands in the place of an e-mail that was erased: a booking is still
// told from the others of its meeting by it, and nobody can be reached by it.
func ErasedEmail(key string) string {
	if key == "" {
		return ""
	}
	return key + booking.ErasedDomain
}

// PhoneKey is to a phone number what EmailKey is to an e-mail. Only its digits
// count; what has fewer than seven is no number.
func PhoneKey(pepper []byte, phone string) string {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, phone)
	if digits = strings.TrimPrefix(digits, "00"); len(digits) < 7 {
		return ""
	}
	return hex.EncodeToString(mac(pepper, "phone:"+digits)[:16])
}

// PepperName tells peppers apart, and nothing of them.
func PepperName(pepper []byte) string { return hex.EncodeToString(mac(pepper, "pepper name")[:16]) }

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
