package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// The beginning and the end of a value go, from 16 bytes on, wherever they stand and
// however the value is written; a part from its middle, or a shorter one, stays.
func TestPartsOfAValueGoAnywhere(t *testing.T) {
	const value = `sk-live-4eC39HqLyjW"Darj\tT1zdp7dc/+é=`
	red := redactor(string(encoded(t, value)))
	for name, form := range map[string]string{
		"as it is": value, "JSON": quoteJSON(value), "address": url.QueryEscape(value), "hexadecimal": hex.EncodeToString([]byte(value)),
		"base64": base64.StdEncoding.EncodeToString([]byte(value)), "wrapped": wrap(value, 13, "\n"),
	} {
		least := 16
		if name == "wrapped" {
			least = 24 // what separates lines, and a quote, does not count
		}
		for i := 1; i < len(form); i++ {
			if !utf8.RuneStart(form[i]) {
				continue
			}
			for _, around := range [][2]string{{"token=", "..."}, {`{"a":(`, `…)}`}, {"", ""}, {";;;\n", "\n;;;"}, {"~", "~"}} {
				for _, part := range []string{form[:i], form[i:]} {
					got := red.Text(around[0] + part + around[1])
					if len(part) >= least && strings.Contains(got, part) || !strings.HasPrefix(got, around[0]) || !strings.HasSuffix(got, around[1]) {
						t.Fatalf("%s: %q of %q gives %q", name, part, form, got)
					}
				}
			}
		}
	}
	for _, kept := range []string{"sk-live-4eC39Hq", "live-4eC39HqLyjW", "the sk-live- keys", "zdp7dc/+"} {
		if got := red.Text("is " + kept + "."); got != "is "+kept+"." {
			t.Errorf("%q became %q", kept, got)
		}
	}
}

func TestPartsOfValuesInJSONAndLines(t *testing.T) {
	red := redactor(`"abcdefghijklmnopqrstuvwxyz"`, `"short-one"`, `{"pem":"-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END KEY-----"}`)
	for in, want := range map[string]string{
		`{"abcdefghijklmnop…":"klmnopqrstuvwxyz","n":1}`: `{"[secret]…":"[secret]","n":1}`,
		`["abcdefghijklmno","lmnopqrstuvwxyz"]`:          `["abcdefghijklmno","lmnopqrstuvwxyz"]`,
		`["short-on"]`:                                   `["short-on"]`,
		`["MIIEvQIBADANBgkqhki"]`:                        `["[secret]"]`,
		`["abcdefghijklmnopqrs abcdefghijklmnopqrstuvwxyz ghijklmnopqrstuvwxyz"]`: `["[secret] [secret] [secret]"]`,
	} {
		if got := string(red.JSON(json.RawMessage(in))); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
	if got := red.Lines([]string{"a abcdefghijklmnopq, b", "c"}); got[0] != "a [secret], b" {
		t.Errorf("%q", got)
	}
	if got := red.Cut("see abcdefghijklmnopqrstuvwxyz", 12); got != "see [secret]" {
		t.Errorf("%q", got)
	}
}

// A text of parts takes no longer than another: each byte is read a few times.
func BenchmarkParts(b *testing.B) {
	red := redactor(`"` + strings.Repeat("abcdefgh", 1000) + `"`)
	text := strings.Repeat("abcdefgh", 8000)
	for b.Loop() {
		red.Text(text)
	}
}
