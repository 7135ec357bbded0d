package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/internal/redact"
)

// redactor takes texts out; each is given as the JSON of a secret's value.
func redactor(values ...string) *redact.Redactor {
	var list []json.RawMessage
	for _, v := range values {
		list = append(list, json.RawMessage(v))
	}
	return redact.New(list...)
}

func TestRedactedTexts(t *testing.T) {
	const password = `hun/ter+2 "ü"`
	red := redactor(`"hun/ter+2 \"ü\""`, `{"user":"ada-lovelace","pin":40123,"codes":["x9y8z7",7],"on":true}`, `"abc"`, `null`, `987654.50`,
		`"-----BEGIN KEY-----\nMIIEvQIBADAN\nBgkqhkiG9w0B\nab\n-----END KEY-----\n"`)
	encoded, err := json.Marshal(map[string]string{"p": password})
	if err != nil {
		t.Fatal(err)
	}
	basic := base64.StdEncoding.EncodeToString([]byte("ada:" + password + "!"))
	for text, want := range map[string]string{
		"nothing here, abc and 7 stay":                         "nothing here, abc and 7 stay",
		"user ada-lovelace logged in":                          "user [secret] logged in",
		"ada-lovelaceada-lovelace":                             "[secret][secret]",
		"pin=40123, 940123":                                    "pin=[secret], 9[secret]",
		"it costs 987654.50 or 987654.5 in all":                "it costs [secret] or [secret] in all",
		"p=" + password:                                        "p=[secret]",
		"p=" + url.QueryEscape(password) + "&q":                "p=[secret]&q",
		"/p/" + url.PathEscape(password) + "/":                 "/p/[secret]/",
		strings.ToLower(url.PathEscape("x/x9y8z7")):            "x%2f[secret]",
		string(encoded):                                        `{"p":"[secret]"}`,
		`"hun/ter+2 \"\u00fc\""`:                               `"[secret]"`,
		`hun\/ter+2 \"ü\"`:                                     "[secret]",
		hex.EncodeToString([]byte("x9y8z7")):                   "[secret]",
		base64.StdEncoding.EncodeToString([]byte("x9y8z7")):    "[secret]",
		base64.StdEncoding.EncodeToString([]byte(password)):    "[secret]",
		base64.RawURLEncoding.EncodeToString([]byte(password)): "[secret]",
		"line MIIEvQIBADAN\r\nBgkqhkiG9w0B.":                   "line [secret]\r\n[secret].",
	} {
		if got := red.Text(text); got != want {
			t.Errorf("%q became %q; want %q", text, got, want)
		}
	}
	if got := red.Text(basic); strings.Contains(got, basic[8:24]) {
		t.Errorf("behind a user's name in base 64 it became %q of %q", got, basic)
	}
	if red := redactor(`"abc"`, `12`, `true`, `null`, `{"a":["b"]}`); red != nil {
		t.Error("there is a redactor of values that are all too short")
	}
	if got := (*redact.Redactor)(nil).Text("ada-lovelace"); got != "ada-lovelace" {
		t.Errorf("none at all made it %q", got)
	}
	if got := redactor(`"abcd"`).Cut("äabcdabcd", 12); got != "ä[secret][se" {
		t.Errorf("cut to %q", got)
	}
}

// Values that begin alike, lie in one another or overlap go as a whole.
func TestTheLongestValueGoes(t *testing.T) {
	red := redactor(`"token"`, `"token-of-ada"`, `"of-ada-too"`)
	for text, want := range map[string]string{
		"token-of-ada":     "[secret]",
		"token-of-ada-too": "[secret]", // two that overlap
		"token-of-bob":     "[secret]-of-bob",
		"tokentoken":       "[secret][secret]",
	} {
		if got := red.Text(text); got != want {
			t.Errorf("%q became %q; want %q", text, got, want)
		}
	}
}

func TestRedactedJSON(t *testing.T) {
	red := redactor(`"s3cr3t/x"`, `40123`)
	for in, want := range map[string]string{
		`{"a": [1, "x", null, true], "b" : 2.50}`:           `{"a": [1, "x", null, true], "b" : 2.50}`, // byte for byte
		`{"a":"p s3cr3t\/x","s3cr3t/x":{"b":["s3cr3t/x"]}}`: `{"a":"p [secret]","[secret]":{"b":["[secret]"]}}`,
		`{"a":"s3\u00633t/x","b":"s3cr\u0033t\u002fx\n"}`:   `{"a":"s3\u00633t/x","b":"[secret]\n"}`,
		`[40123,-40123,4.0123e4,40123.0,401230,123,4.0123]`: `["[secret]","[secret]","[secret]","[secret]","[secret]",123,4.0123]`,
		`[4012300e-2,0.40123e5,9.401231e6,1e3]`:             `["[secret]","[secret]","[secret]",1e3]`,
		`"{\"inner\":\"s3cr3t/x\"}"`:                        `"{\"inner\":\"[secret]\"}"`,
		`{"a":"\"","b":"s3cr3t/x"}`:                         `{"a":"\"","b":"[secret]"}`,
		`{"a":"\\","b":"s3cr3t/x"}`:                         `{"a":"\\","b":"[secret]"}`,
		`not json s3cr3t/x`:                                 `not json s3cr3t/x`,
		``:                                                  ``,
	} {
		if got := string(red.JSON(json.RawMessage(in))); got != want {
			t.Errorf("%s became %s; want %s", in, got, want)
		}
	}
}

// Whatever the value, the text around it and the way it is encoded: it is gone,
// and a text that has nothing of it stays as it is.
func TestNoTextHoldsAValueAfterwards(t *testing.T) {
	value := rapid.StringOfN(rapid.RuneFrom([]rune(`AB12/+ü%&\"`+"\n")), 4, 40, -1)
	around := rapid.StringOf(rapid.RuneFrom([]rune(`xyzAB12/+ü%&\"`)))
	ways := map[string]func(string) string{
		"as it is": func(s string) string { return s },
		"JSON":     func(s string) string { raw, _ := json.Marshal(s); return string(raw[1 : len(raw)-1]) },
		"query":    url.QueryEscape, "path": url.PathEscape,
		"hex":    func(s string) string { return fmt.Sprintf("%x", s) },
		"HEX":    func(s string) string { return fmt.Sprintf("%X", s) },
		"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
		"url64":  func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(value, 1, 4).Draw(t, "values")
		var secrets []json.RawMessage
		for _, v := range values {
			raw, err := json.Marshal(map[string]any{"deep": []string{v}})
			if err != nil {
				t.Fatal(err)
			}
			secrets = append(secrets, raw)
		}
		red := redact.New(secrets...)
		text := around.Draw(t, "before")
		var forms []string
		for _, v := range values {
			way := rapid.SampledFrom([]string{"as it is", "JSON", "query", "path", "hex", "HEX", "base64", "url64"}).Draw(t, "way")
			forms = append(forms, v, ways[way](v))
			text += ways[way](v) + around.Draw(t, "after")
		}
		clean := red.Text(text)
		raw, err := json.Marshal(map[string]string{text: text})
		if err != nil {
			t.Fatal(err)
		}
		var tree map[string]string
		if err := json.Unmarshal(red.JSON(raw), &tree); err != nil {
			t.Fatal(err)
		}
		for _, form := range forms {
			for key, one := range tree {
				if strings.Contains(clean, form) || strings.Contains(key, form) || strings.Contains(one, form) {
					t.Fatalf("%q is left in %q, %q or %q", form, clean, key, one)
				}
			}
		}
		without := rapid.StringMatching(`[c-z ]{0,60}`).Draw(t, "without")
		if got := red.Text(without); got != without {
			t.Fatalf("%q became %q", without, got)
		}
		if again := red.Text(clean); again != clean {
			t.Fatalf("%q became %q", clean, again)
		}
	})
}

// Five megabytes of lines are read once, also where nearly all of them begins
// like a secret.
func TestRedactingTakesTimeByLengthAlone(t *testing.T) {
	long, err := json.Marshal(strings.Repeat("a", 8000) + "b")
	if err != nil {
		t.Fatal(err)
	}
	red := redactor(string(long))
	for what, text := range map[string]string{
		"hostile":  strings.Repeat(strings.Repeat("a", 7999)+"c", 5<<20/8000),
		"ordinary": strings.Repeat("2026-11-21 INFO compiling the module, 17 files\n", 5<<20/47),
	} {
		begin := time.Now()
		if got := red.Text(text); (got != text) != (what == "hostile") || strings.Contains(got, "aaaaaaaaaaaaaaaa") {
			t.Errorf("%s: the text became %.100q", what, got)
		}
		took := time.Since(begin)
		t.Logf("%s: %d MB in %v", what, len(text)>>20, took)
		if took > 30*time.Second { // over a hundred times what it takes: it is not linear
			t.Errorf("%s: it took %v", what, took)
		}
	}
}
