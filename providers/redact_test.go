package providers

import "testing"

func TestRedaction(t *testing.T) {
	r := Redaction{
		Names: []string{"cancel_url", "location.data"}, Links: true, Harmless: []string{"https://api.example/"},
	}
	for _, c := range []struct{ name, in, want string }{
		{"by name, at any depth", `{"a":[{"cancel_url":"x"}]}`, `{"a":[{"cancel_url":"[redacted]"}]}`},
		{"by name, whatever its case", `{"Cancel_URL":"x"}`, `{"Cancel_URL":"[redacted]"}`},
		{"by an escaped name", `{"cancel\u005furl":"x"}`, `{"cancel\u005furl":"[redacted]"}`},
		{"under a parent", `{"location":{"data":{"id":1,"x":[2]},"type":"zoom"}}`, `{"location":{"data":"[redacted]","type":"zoom"}}`},
		{"not under another", `{"payload":{"data":{"id":1}}}`, `{"payload":{"data":{"id":1}}}`},
		{"by a word in a name", `{"roomPassword":12,"accessToken":true,"client_secret":["a"]}`, `{"roomPassword":"[redacted]","accessToken":"[redacted]","client_secret":"[redacted]"}`},
		{"null is no secret", `{"password":null}`, `{"password":null}`},
		{"a link anywhere", `{"notes":"join https://zoom.us/j/1?pwd=x"}`, `{"notes":"[redacted]"}`},
		{"a link with escaped slashes", `{"notes":"https:\/\/zoom.us\/j\/1"}`, `{"notes":"[redacted]"}`},
		{"a harmless link", `{"uri":"https://api.example/users/1"}`, `{"uri":"https://api.example/users/1"}`},
		{"a harmless beginning", `{"uri":"https://api.example/x and https://zoom.us/j/1"}`, `{"uri":"[redacted]"}`},
		{"a harmless beginning without a space", `{"uri":"https://api.example/x,https://zoom.us/j/1"}`, `{"uri":"[redacted]"}`},
		{"spaces and numbers stay", "{ \"a\" : 1.50 ,\n\"token\" : \"x\" }\n", "{ \"a\" : 1.50 ,\n\"token\" : \"[redacted]\" }\n"},
		{"a text alone", `"https://zoom.us/j/1"`, `"[redacted]"`},
		{"not JSON", `token=x`, Withheld},
		{"nothing", ``, Withheld},
		{"twice the same name", `{"token":"x","token":"y"}`, Withheld},
	} {
		if got := string(r.Apply([]byte(c.in))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
