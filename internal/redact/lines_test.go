package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/internal/redact"
)

// A value whose beginning ends a text and whose rest begins another one, which is read
// apart, goes from both, unless fewer than six bytes of it stand there.
func TestPartsOfAValueGoAtTheEndsOfLines(t *testing.T) {
	red := redactor(string(encoded(t, theSecret)))
	for name, form := range map[string]string{
		"as it is": theSecret, "JSON": quoteJSON(theSecret), "address": url.QueryEscape(theSecret), "hexadecimal": hex.EncodeToString([]byte(theSecret)),
		"base64": base64.StdEncoding.EncodeToString([]byte(theSecret)), "wrapped": wrap(theSecret, 13, "\n"),
	} {
		for i := 1; i < len(form); i++ {
			if !utf8.RuneStart(form[i]) {
				continue
			}
			earlier := strings.Join(red.Lines(strings.Split("first\nout: "+form[:i], "\n")), "\n")
			later := strings.Join(red.Lines(strings.Split(form[i:]+" ok\nlast", "\n")), "\n")
			if !strings.HasPrefix(earlier, "first\nout: ") || !strings.HasSuffix(later, " ok\nlast") {
				t.Fatalf("%s: %q and %q", name, earlier, later)
			}
			if i >= 6 && strings.HasSuffix(earlier, form[:i]) {
				t.Errorf("%s: %q is left of what was cut at %d", name, earlier, i)
			}
			if len(form)-i >= 6 && strings.HasPrefix(later, form[i:]) {
				t.Errorf("%s: %q is left of what was cut at %d", name, later, i)
			}
		}
	}
}

func TestEndsOfLines(t *testing.T) {
	red := redactor(`"token-of-ada"`, `"short"`)
	for _, c := range []struct{ in, want []string }{
		{[]string{"it is token-", "of-ada."}, []string{"it is [secret]", "[secret]."}}, // together
		{[]string{"it is token-", "something else", "of-ada."}, []string{"it is [secret]", "something else", "[secret]."}},
		{[]string{"it is token", "f-ada."}, []string{"it is token", "f-ada."}},                             // five bytes each
		{[]string{"token- it is", "so: of-ada"}, []string{"token- it is", "so: of-ada"}},                   // not at the ends
		{[]string{"the token-token-"}, []string{"the token-[secret]"}},                                     // the longest one
		{[]string{`key="token-o"`}, []string{`key="[secret]"`}},                                            // quotes are no part of it
		{[]string{"a shor", "hort"}, []string{"a shor", "hort"}},                                           // too short for parts
		{[]string{"746f6b656e", "6f662d616461 and"}, []string{"[secret]", "[secret] and"}},                 // in hexadecimal
		{[]string{"", "token-of-ada", ""}, []string{"", "[secret]", ""}},                                   // as a whole
		{[]string{strings.Repeat("x", 9999) + "token-"}, []string{strings.Repeat("x", 9999) + "[secret]"}}, // a long line
	} {
		if got := red.Lines(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%q became %q; want %q", c.in, got, c.want)
		}
	}
	if got := (*redact.Redactor)(nil).Lines([]string{"token-"}); !slices.Equal(got, []string{"token-"}) {
		t.Errorf("none at all made it %q", got)
	}
}

// FuzzLines: lines stay as many, and of a value that is cut anywhere neither text
// keeps its part.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "a", `\u0061`, "%2561", "&amp;#97;", "\n", `\`, "\xff", `'\''`, "tok\n  en", "dG9rZW4="} {
		f.Add(seed, "token-value", seed, 6)
		f.Add("x", seed+"12345678", seed, 3)
	}
	f.Fuzz(func(t *testing.T, before, value, after string, cut int) {
		raw, err := json.Marshal(value)
		if err != nil || len(value) == 0 {
			return
		}
		red := redactor(string(raw))
		cut = int(uint(cut) % uint(len(value)))
		earlier, later := before+value[:cut], value[cut:]+after
		cleanEarlier, cleanLater := red.Lines(strings.Split(earlier, "\n")), red.Lines(strings.Split(later, "\n"))
		if len(cleanEarlier) != strings.Count(earlier, "\n")+1 || len(cleanLater) != strings.Count(later, "\n")+1 {
			t.Errorf("%d lines of %q, %d lines of %q", len(cleanEarlier), earlier, len(cleanLater), later)
		}
		// JSON cannot say what is not UTF-8, so such a value is another one; a part of the
		// placeholder may stand at its ends.
		if red == nil || !utf8.ValidString(value) || strings.ContainsAny(value, "\x00[]") || len(strings.TrimSpace(value)) < 16 {
			return
		}
		left := func(lines []string) string {
			return strings.ReplaceAll(strings.Join(lines, "\n"), redact.Placeholder, "\x00")
		}
		if part := value[:cut]; len(strings.TrimSpace(part)) >= 6 && strings.HasSuffix(left(cleanEarlier), part) {
			t.Errorf("%q is left in %q", part, cleanEarlier)
		}
		if part := value[cut:]; len(strings.TrimSpace(part)) >= 6 && strings.HasPrefix(left(cleanLater), part) {
			t.Errorf("%q is left in %q", part, cleanLater)
		}
	})
}
