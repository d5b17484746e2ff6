package providers_test

import (
	"strings"
	"testing"

	"slotkeeper/providers"
)

// The API's own words are kept, whichever way it says them, and no secret.
func TestMessages(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"Acuity", `{"status_code":400,"message":"The appointment type \"x\" is invalid.","error":"invalid_appointment_type"}`, `The appointment type "x" is invalid.`},
		{"Cal.com", `{"status":"error","timestamp":"2026-09-15T12:00:00.000Z","path":"/v2/bookings","error":{"code":"BadRequestException","message":"This booking has already been cancelled."}}`, "This booking has already been cancelled."},
		{"Cal.com's first version", `{"message":"Your API key is not valid."}`, "Your API key is not valid."},
		{"a list", `{"statusCode":400,"message":["take must be a number","skip must be a number"],"error":"Bad Request"}`, "take must be a number; skip must be a number"},
		{"Calendly", `{"title":"Unauthenticated","message":"The access token is invalid"}`, "Unauthenticated: The access token is invalid"},
		{
			"Calendly with details",
			`{"title":"Invalid Argument","message":"The supplied parameters are invalid.","details":[{"parameter":"url","message":"must be public"},{"message":"is wrong"},{"parameter":"x"},{},7]}`,
			"Invalid Argument: The supplied parameters are invalid. (url must be public; is wrong; x)",
		},
		{"the same twice", `{"title":"Already Exists","message":"Already Exists"}`, "Already Exists"},
		{"OAuth", `{"error":"invalid_grant","error_description":"The provided authorization grant is invalid."}`, "invalid_grant: The provided authorization grant is invalid."},
		{"OAuth, short", `{"error":"invalid_client"}`, "invalid_client"},
		{"more than one line", `{"message":" one\r\n two\u0007\u001b[31m three "}`, "one two [31m three"},
		{"a secret", `{"message":"no key s3cr+t/= here, s3cr%2Bt%2F%3D neither, s3cr+t/= not"}`, "no key [redacted] here, [redacted] neither, [redacted] not"},
		{"a secret where it is cut", `{"message":"` + strings.Repeat("é", 195) + `s3cr+t/="}`, strings.Repeat("é", 195) + "[reda…"},
		{"other types", `{"title":7,"message":{"a":1},"error":[],"details":"x"}`, ""},
		{"no object", `[{"message":"x"}]`, ""},
	} {
		v, f := providers.Scan([]byte(c.body))
		if f != nil {
			t.Fatalf("%s: %s", c.name, f.Text)
		}
		if got := providers.Message(v, []string{"", "s3cr+t/="}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
