package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/redact"
)

// theSecret has what programs escape; letters of it that are left after redaction show.
const theSecret = `xk9/Qz+7"vW&<mü'\$ pL3%j8Ye=5Tb^R2~Hd0NcGs4Fa6Ou1`

// wrap breaks a text into lines of width columns.
func wrap(text string, width int, with string) string {
	var lines []string
	for part := range slices.Chunk([]rune(text), width) {
		lines = append(lines, string(part))
	}
	return strings.Join(lines, with)
}

func quoteJSON(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw[1 : len(raw)-1])
}

func each(text, format string) string {
	var out strings.Builder
	for _, r := range text {
		fmt.Fprintf(&out, format, r)
	}
	return out.String()
}

func eachByte(text, format string) string {
	var out strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&out, format, c)
	}
	return out.String()
}

// shellQuoted returns what bash's printf %q makes of a text.
func shellQuoted(t *testing.T, text string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-c", `printf %q "$1"`, "bash", text).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// However a program writes a secret down, nothing of it is left.
func TestSecretsGoInEveryForm(t *testing.T) {
	s, raw := theSecret, []byte(theSecret)
	std, long := base64.StdEncoding, strings.Repeat("kubectl:", 9)
	forms := map[string]string{
		"raw": s, "trimmed": " \t" + s + "\n", "lower hex": hex.EncodeToString(raw), "upper hex": fmt.Sprintf("%X", raw),
		"hex with spaces": fmt.Sprintf("% x", raw), "hex wrapped": wrap(hex.EncodeToString(raw), 32, "\n"), "bytes of C": eachByte(s, `\x%02x`),
		"octal": eachByte(s, `\%03o`), "query": url.QueryEscape(s), "path": url.PathEscape(s), "query twice": url.QueryEscape(url.QueryEscape(s)),
		"query three times": url.QueryEscape(url.QueryEscape(url.QueryEscape(s))), "every byte in an address": eachByte(s, "%%%02X"),
		"the same in lower case": eachByte(s, "%%%02x"), "query wrapped": wrap(url.QueryEscape(s), 20, "\n"),
		"base64": std.EncodeToString(raw), "base64 raw": base64.RawStdEncoding.EncodeToString(raw), "base64 url": base64.URLEncoding.EncodeToString(raw),
		"base64 raw url": base64.RawURLEncoding.EncodeToString(raw), "base64 behind 1": std.EncodeToString([]byte("a" + s + "b")),
		"base64 behind 2": std.EncodeToString([]byte("ab" + s + "bc")), "base64 behind 3": std.EncodeToString([]byte("abc" + s)),
		"base64 at 64 columns": wrap(std.EncodeToString([]byte(long+s+long)), 64, "\n"), "base64 at 76 columns": wrap(std.EncodeToString([]byte(long+s+long)), 76, "\r\n"),
		"base64 at 20, indented": wrap(std.EncodeToString(raw), 20, "\n      "), "base64 in JSON, wrapped": quoteJSON(wrap(std.EncodeToString(raw), 20, "\n")),
		"base64 in an address": url.QueryEscape(std.EncodeToString(raw)), "HTML": html.EscapeString(s), "HTML twice": html.EscapeString(html.EscapeString(s)),
		"decimal entities": each(s, "&#%d;"), "hex entities": each(s, "&#x%x;"), "upper hex entities": each(s, "&#X%04X;"),
		"named entities": strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&quot;", "'", "&apos;", "ü", "&uuml;", "+", "&plus;", "$", "&dollar;").Replace(s),
		"JSON":           quoteJSON(s), "JSON in JSON": quoteJSON(quoteJSON(s)), "JSON in JSON in JSON": quoteJSON(quoteJSON(quoteJSON(s))),
		"JSON of ASCII": strings.Trim(strconv.QuoteToASCII(s), `"`), "every character in JSON": each(s, `\u%04x`), "the same twice": each(s, `\\u%04X`),
		"code points": each(s, `\u{%x}`), "HTML in JSON": quoteJSON(html.EscapeString(s)), "JSON in HTML": html.EscapeString(quoteJSON(s)),
		"JSON in an address": url.QueryEscape(quoteJSON(s)), "Go": strconv.Quote(s), "single quotes": "'" + strings.ReplaceAll(s, "'", `'\''`) + "'",
		"single quotes, other": "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'",
		"double quotes":        `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s) + `"`,
		"printf %q":            shellQuoted(t, s), "YAML": "'" + strings.ReplaceAll(s, "'", "''") + "'",
		"wrapped": wrap(s, 13, "\n"), "wrapped at 1": wrap(s, 1, "\n"), "wrapped with CRLF": wrap(s, 13, "\r\n"), "wrapped and indented": wrap(s, 13, "\n\t    "),
		"wrapped with a backslash": wrap(s, 13, "\\\n"), "wrapped in JSON": quoteJSON(wrap(s, 13, "\n")), "strings that are put together": wrap(s, 13, `"`+"\n"+`    + "`),
		"SQL": "E'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'", "mail": wrap(s, 13, "=\r\n"),
	}
	red := redactor(string(encoded(t, s)))
	for name, form := range forms {
		clean := red.Text("before " + form + " after")
		left := strings.NewReplacer(redact.Placeholder, "", "before", "", "after", "").Replace(clean)
		if !strings.Contains(clean, redact.Placeholder) || !strings.HasPrefix(clean, "before ") || !strings.HasSuffix(clean, " after") {
			t.Errorf("%s: %q became %q", name, form, clean)
		}
		// Around a value in base 64 stands what is no part of it.
		if rest := strings.ReplaceAll(left, std.EncodeToString([]byte(long)), ""); len(strings.TrimSpace(rest)) > 24 && !strings.Contains(name, "columns") {
			t.Errorf("%s: %q is left", name, rest)
		}
		if tree := red.JSON(encoded(t, map[string]string{"a": form})); !strings.Contains(string(tree), redact.Placeholder) {
			t.Errorf("%s: in JSON it became %s", name, tree)
		}
	}
	t.Logf("%d forms", len(forms))
}

func encoded(t *testing.T, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A value that begins in one line and ends in another goes from both; the lines stay.
func TestSecretsGoAcrossLines(t *testing.T) {
	red := redactor(string(encoded(t, theSecret)))
	for i := 1; i < len(theSecret); i++ {
		if theSecret[i]&0xc0 == 0x80 {
			continue // within a character
		}
		clean := red.Lines([]string{"first", "key: " + theSecret[:i], theSecret[i:] + " ok", "", "last"})
		if len(clean) != 5 || clean[0] != "first" || clean[3] != "" || clean[4] != "last" {
			t.Fatalf("%q", clean)
		}
		if rest := strings.NewReplacer(redact.Placeholder, "", "key: ", "", " ok", "").Replace(clean[1] + clean[2]); len(rest) > 1 {
			t.Errorf("cut at %d: %q is left in %q", i, rest, clean)
		}
	}
}

// What has nothing of a value stays as it is, whatever escapes are in it.
func TestOtherTextsStay(t *testing.T) {
	red := redactor(`"password1"`, `"tok-en"`)
	for _, text := range []string{"", "100%", "%", "%2", "%25", "&", "&amp", "&#", "&#x;", `\`, `\\`, `\u`, `\ud83d`, `\ud83d\u`, `\u{`, `\u{}`, `\x`, `\777`, "=\n", "pass word\n2",
		"a &amp; b", "tok en", "ein Tag\n", strings.Repeat("&amp;", 5), strings.Repeat("%25", 5), "\xff\xfe", `\Uffffffff`} {
		if got := red.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// FuzzRedact: a text that holds a value holds it no more, a text is the same when it is
// redacted again, and lines stay as many.
func FuzzRedact(f *testing.F) {
	for _, seed := range []string{"", "a", `\u0061`, "%2561", "&amp;#97;", "\n", `\`, "[secret]", "\xff", `'\''`, "tok\n  en", "dG9rZW4="} {
		f.Add(seed, "token-value", seed)
		f.Add("x", seed+"12345678", seed)
	}
	f.Fuzz(func(t *testing.T, before, value, after string) {
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		red := redactor(string(raw))
		text := before + value + after
		clean := red.Text(text)
		// JSON cannot say what is not UTF-8, so such a value is another one.
		if red != nil && json.Valid(raw) && strings.ToValidUTF8(value, "") == value && len(strings.TrimSpace(value)) >= 16 &&
			!strings.Contains(redact.Placeholder, value) && strings.Contains(strings.ReplaceAll(clean, redact.Placeholder, "\x00"), value) {
			t.Errorf("%q is left in %q", value, clean)
		}
		if lines := red.Lines(strings.Split(text, "\n")); len(lines) != strings.Count(text, "\n")+1 {
			t.Errorf("%d lines of %q", len(lines), text)
		}
		if tree := red.JSON(raw); !json.Valid(tree) {
			t.Errorf("%s became %s", raw, tree)
		}
	})
}
