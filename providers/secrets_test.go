package providers_test

import (
	"testing"

	"slotkeeper/providers"
)

// Whoever gives a connection another secret while one is being changed loses no post:
// what the provider signs with is one of those that there were.
func TestSecretsInTheMiddleOfAChange(t *testing.T) {
	rotating := providers.Secrets{Current: "new", Previous: "old"}
	for _, c := range []struct {
		name      string
		got, want providers.Secrets
	}{
		{"another", providers.Secrets{Current: "old"}.Replaced("new"), rotating},
		{"another in the middle", rotating.Replaced("third"), providers.Secrets{Current: "third", Previous: "new", Older: "old"}},
		{"back to the one before", rotating.Replaced("old"), providers.Secrets{Current: "old", Previous: "new"}},
		{"another in vain", providers.Secrets{Current: "old"}.Beside("new"), providers.Secrets{Current: "old", Previous: "new"}},
		{"another in the middle, in vain", rotating.Beside("third"), providers.Secrets{Current: "new", Previous: "old", Older: "third"}},
		{"the same in vain", rotating.Beside("new"), rotating},
		{"the one before in vain", rotating.Beside("old"), rotating},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, c.got, c.want)
		}
	}
	three := rotating.Replaced("third")
	for secret, want := range map[string]string{"third": providers.ByCurrent, "new": providers.ByPrevious, "old": providers.ByPrevious, "": "", "none": ""} {
		by, err := providers.MatchSecret(three, func(s string) bool { return s == secret })
		if by != want || (err == nil) != (want != "") {
			t.Errorf("%q verifies as %q, %v", secret, by, err)
		}
	}
}
