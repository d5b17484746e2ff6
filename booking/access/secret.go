package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// tokenPrefix lets scanners find tokens that were committed or pasted by mistake.
const tokenPrefix = "slk_"

// newSecret draws 256 bits. Guessing them is hopeless, so a plain SHA-256 of
// them may be stored and looked up.
func newSecret(prefix string) string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails; it ends the process rather
	return prefix + base64.RawURLEncoding.EncodeToString(b)
}

func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(strings.TrimSpace(secret)))
	return sum[:]
}
