package web

import "testing"

// A link that dials another number than the one that is written is worse than none.
func TestPhoneLinks(t *testing.T) {
	t.Parallel()
	for phone, want := range map[string][2]string{
		"+62 811-000-000":        {"+62811000000", "62811000000"},
		"0062 811 000 000":       {"+62811000000", "62811000000"},
		"+44 (0)20 7946 0018":    {"+442079460018", "442079460018"},
		"+1 (555) 010-0199 x12":  {"+15550100199", "15550100199"},
		"+1.555.010.0199 ext. 5": {"+15550100199", "15550100199"},
		"0811 000 000":           {"0811000000", ""},
		"112":                    {"112", ""},
		"+0 811 000 000":         {"", ""},
		"+62":                    {"", ""},
		"+62811000000123456":     {"", ""},
		"call me":                {"", ""},
		"javascript:alert(1)":    {"", ""},
		"+62 811 <script>":       {"", ""},
		"٠٨١١":                   {"", ""},
		"":                       {"", ""},
	} {
		if got := [2]string{dial(phone), international(phone)}; got != want {
			t.Errorf("%q: %q, want %q", phone, got, want)
		}
	}
}

func TestWebPage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://meet.example.com/abc?pwd=1":  "https://meet.example.com/abc?pwd=1",
		" http://example.com ":                "http://example.com",
		"javascript:alert(1)":                 "",
		"JavaScript:alert(1)":                 "",
		"data:text/html,x":                    "",
		"//example.com/":                      "",
		"https://user:secret@example.com/":    "",
		"https:///nowhere":                    "",
		"Room 4":                              "",
		"https://example.com/\"><script>x":    "https://example.com/%22%3E%3Cscript%3Ex",
		"ftp://example.com":                   "",
		"intent://example.com#Intent;end":     "",
		"https://example.com/\x00":            "",
		"vbscript:https://example.com":        "",
		"Room 4, https://example.com/map":     "",
		"https://example.com/a b":             "https://example.com/a%20b",
		"https://\u202eexample.com/backwards": "https://%E2%80%AEexample.com/backwards",
	} {
		if got := webPage(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
