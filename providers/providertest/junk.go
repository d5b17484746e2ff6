package providertest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"slotkeeper/booking"
	"slotkeeper/providers"
)

// anyCode stands where an adapter may choose its own name.
const anyCode = ""

// junk posts what no provider sends: each has a named verdict, and nothing
// of it is shown.
func junk(t *testing.T, p providers.Provider) {
	t.Helper()
	all := jsonJunk()
	if takesForms(p) {
		all = formJunk()
	}
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			body := []byte(c.body)
			d := p.Parse(providers.Request{Body: body}, Origin(p))
			CheckDelivery(t, d)
			if d.Status != booking.StatusFailed || c.code != anyCode && d.Code != c.code {
				t.Errorf("status %q, code %q (%s), want failed, %q", d.Status, d.Code, d.Error, c.code)
			}
			if out := p.Redact(body); !json.Valid(out) {
				t.Errorf("redacted to %q, which is no JSON", out)
			}
			if e, ok := p.(providers.Ender); ok && e.EndedBy(body) != (providers.Party{}) {
				t.Errorf("it says that %+v ended a booking", e.EndedBy(body))
			}
		})
	}
}

type useless struct{ name, body, code string }

func formJunk() []useless {
	return []useless{
		{"nothing", "", providers.CodeFormInvalid},
		{"spaces", " \r\n\t ", providers.CodeFormInvalid},
		{"JSON", `{"action":"scheduled","id":"1"}`, providers.CodeFormInvalid},
		{"JSON with an equals sign", `{"a":"b=c"}`, providers.CodeFormInvalid},
		{"page", "<!doctype html><p>Not found", providers.CodeFormInvalid},
		{"page with an equals sign", `<html lang="en">`, providers.CodeFormInvalid},
		{"text", "hello", providers.CodeFormInvalid},
		{"only separators", "&&&", providers.CodeFormInvalid},
		{"separator at the end", "action=scheduled&id=1&", providers.CodeFormInvalid},
		{"no name", "=scheduled&id=1", providers.CodeFormInvalid},
		{"half an escape", "action=scheduled&id=%4", providers.CodeFormInvalid},
		{"wrong escape", "action=scheduled&id=%zz", providers.CodeFormInvalid},
		{"semicolons", "action;x=scheduled;id=1", providers.CodeFormInvalid},
		{"multipart", "--x\r\nContent-Disposition: form-data; name=\"action\"\r\n\r\nscheduled\r\n--x--", providers.CodeFormInvalid},
		{"NUL byte", "action=scheduled&id=1\x00", providers.CodeEncodingInvalid},
		{"NUL escape", "action=scheduled&id=1%00", providers.CodeEncodingInvalid},
		{"invalid UTF-8", "action=scheduled&id=\xff", providers.CodeEncodingInvalid},
		{"invalid UTF-8, escaped", "action=scheduled&id=%ff%fe", providers.CodeEncodingInvalid},
		{"UTF-16", "a\x00=\x001\x00", providers.CodeEncodingInvalid},
		{"duplicate name", "action=scheduled&id=1&id=2", providers.CodeDuplicateKey},
		{"duplicate name, escaped", "action=scheduled&id=1&%69d=2", providers.CodeDuplicateKey},
		{"many fields", strings.Repeat("a", 70) + "=1" + manyFields(100), providers.CodeTooManyValues},
		{"huge", "action=scheduled&id=" + strings.Repeat("1", 80_000), providers.CodeBodyTooLarge},
		{"other fields", "a=1&b=2", anyCode},
		{"other names' case", "Action=scheduled&ID=1", anyCode},
		{"empty values", "action=&id=", anyCode},
	}
}

func manyFields(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString("&f" + strconv.Itoa(i) + "=1")
	}
	return out.String()
}

func jsonJunk() []useless {
	deep := providers.MaxDepth + 2
	return []useless{
		{"nothing", "", providers.CodeJSONInvalid},
		{"spaces", " \r\n\t ", providers.CodeJSONInvalid},
		{"broken object", `{"a":1`, providers.CodeJSONInvalid},
		{"trailing comma", `{"a":1,}`, providers.CodeJSONInvalid},
		{"two values", `{"a":1} {"a":2}`, providers.CodeJSONInvalid},
		{"single quotes", `{'a':1}`, providers.CodeJSONInvalid},
		{"bare control character", "{\"a\":\"\x01\"}", providers.CodeJSONInvalid},
		{"half an escape", `{"a":"\u12`, providers.CodeJSONInvalid},
		{"NUL byte", "{\"a\":\"b\x00\"}", providers.CodeEncodingInvalid},
		{"NUL escape", `{"a":"b\u0000"}`, providers.CodeEncodingInvalid},
		{"invalid UTF-8", "{\"a\":\"\xff\xfe\"}", providers.CodeEncodingInvalid},
		{"UTF-16", "{\x00\"\x00a\x00\"\x00", providers.CodeEncodingInvalid},
		{"nesting", strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep), providers.CodeNestingTooDeep},
		{"nesting without end", `{"a":` + strings.Repeat("[", 100_000), providers.CodeNestingTooDeep},
		{"duplicate name", `{"a":1,"a":2}`, providers.CodeDuplicateKey},
		{"duplicate name, escaped", `{"a":1,"\u0061":2}`, providers.CodeDuplicateKey},
		{"duplicate name, far inside", `{"a":[{"b":{"c":1,"d":2,"c":3}}]}`, providers.CodeDuplicateKey},
		{"huge power", `{"a":1e999999}`, providers.CodeNumberTooLarge},
		{"huge number", `{"a":` + strings.Repeat("9", 400) + `}`, providers.CodeNumberTooLarge},
		{"many values", `{"a":[` + strings.Repeat("0,", providers.MaxValues) + `0]}`, providers.CodeTooManyValues},
		{"form", "event=BOOKING_CREATED&uid=x&name=Priya Raman", anyCode},
		{"page", "<!doctype html><p>Not found", anyCode},
		{"array", `[]`, anyCode},
		{"false", `false`, anyCode},
		{"null", `null`, anyCode},
		{"string", `"text"`, anyCode},
		{"empty object", `{}`, anyCode},
		{"wrong types", `{"event":1,"triggerEvent":[],"type":{},"payload":"x","booking":3}`, anyCode},
	}
}

// cutShort cuts a fixture everywhere: never a panic, always a verdict.
func cutShort(t *testing.T, p providers.Provider, body []byte) {
	t.Helper()
	body = bytes.TrimSpace(body)
	for n := range len(body) {
		d := p.Parse(providers.Request{Body: body[:n]}, Origin(p))
		CheckDelivery(t, d)
		if takesForms(p) {
			continue // a form that is cut may be a form
		}
		if d.Status != booking.StatusFailed {
			t.Fatalf("the first %d of %d bytes: status %q", n, len(body), d.Status)
		}
		if n > 0 && !bytes.Equal(p.Redact(body[:n]), []byte(providers.Withheld)) {
			t.Fatalf("the first %d of %d bytes are shown", n, len(body))
		}
	}
}
