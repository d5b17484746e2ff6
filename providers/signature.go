package providers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

// MatchSecret asks match about each secret that there is and says which one fits,
// or ErrSignatureInvalid. An empty secret is never asked about: it verifies
// nothing.
func MatchSecret(s Secrets, match func(secret string) bool) (by string, err error) {
	if s.Current != "" && match(s.Current) {
		return ByCurrent, nil
	}
	for _, before := range []string{s.Previous, s.Older} {
		if before != "" && match(before) {
			return ByPrevious, nil
		}
	}
	return "", ErrSignatureInvalid
}

// SumHex is the lower-case hex HMAC-SHA256 of the parts, one after the other.
func SumHex(secret string, parts ...[]byte) string {
	return hex.EncodeToString(sum(secret, parts))
}

// FitsHex compares a hex HMAC-SHA256 with that of the parts, in constant time.
func FitsHex(signature, secret string, parts ...[]byte) bool {
	given, err := hex.DecodeString(signature)
	return err == nil && len(given) == sha256.Size && hmac.Equal(given, sum(secret, parts))
}

// SumBase64 is the HMAC-SHA256 of a body in padded standard base64.
func SumBase64(secret string, body []byte) string {
	return base64.StdEncoding.EncodeToString(sum(secret, [][]byte{body}))
}

// FitsBase64 compares a padded standard base64 HMAC-SHA256 with that of the body,
// in constant time. One HMAC has one spelling: other alphabets, paddings and
// trailing bits are refused.
func FitsBase64(signature, secret string, body []byte) bool {
	if len(signature) != base64.StdEncoding.EncodedLen(sha256.Size) {
		return false
	}
	given, err := base64.StdEncoding.Strict().DecodeString(signature)
	return err == nil && len(given) == sha256.Size && hmac.Equal(given, sum(secret, [][]byte{body}))
}

func sum(secret string, parts [][]byte) []byte {
	m := hmac.New(sha256.New, []byte(secret))
	for _, p := range parts {
		m.Write(p)
	}
	return m.Sum(nil)
}
