package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// minRedacted is the length of the shortest value that is looked for, in
	// characters: shorter ones stand in every text.
	minRedacted = 4
	// minPart is the length of the shortest beginning or end of a form that is looked for
	// anywhere, in bytes: programs shorten what they show.
	minPart = 16
	// minRedactedLine is that of one line of a value with many.
	minRedactedLine = 8
	// maxExpanded bounds the digits of a number that is written out.
	maxExpanded = 1000
)

// listTexts returns the texts and numbers in the value of a secret that are long enough.
func listTexts(raw json.RawMessage) []string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return appendTexts(nil, value)
}

func appendTexts(list []string, value any) []string {
	switch v := value.(type) {
	case map[string]any:
		for _, one := range v {
			list = appendTexts(list, one)
		}
	case []any:
		for _, one := range v {
			list = appendTexts(list, one)
		}
	case string:
		return appendLines(list, v)
	case json.Number:
		for _, form := range numberForms(string(v)) {
			if digits(form) >= minRedacted {
				list = append(list, form)
			}
		}
	}
	return list
}

// appendLines adds a text, and each line of one with several: they are often written
// line by line.
func appendLines(list []string, text string) []string {
	trimmed := strings.TrimSpace(text)
	for _, one := range []string{text, trimmed} {
		if utf8.RuneCountInString(one) >= minRedacted {
			list = append(list, one)
		}
	}
	if !strings.Contains(trimmed, "\n") {
		return list
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); utf8.RuneCountInString(line) >= minRedactedLine {
			list = append(list, line)
		}
	}
	return list
}

func digits(s string) int {
	return len(s) - len(strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, s))
}

// encodings returns a text as it is and as programs write it: in JSON, in an
// address, in hexadecimal and in base 64.
func encodings(text string) []string {
	list := []string{text, hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text)))}
	list = append(list, jsonForms(text)...)
	list = append(list, addressForms(text)...)
	return append(list, base64Forms(text)...)
}

func jsonForms(text string) []string {
	var plain strings.Builder
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(text) != nil {
		return nil
	}
	inner := strings.TrimSuffix(plain.String(), "\n")
	inner = inner[1 : len(inner)-1]
	list := []string{inner, strings.ReplaceAll(inner, "/", `\/`)}
	if html, err := json.Marshal(text); err == nil {
		list = append(list, string(html[1:len(html)-1]))
	}
	if ascii := asciiOnly(inner); ascii != inner {
		list = append(list, ascii)
	}
	return list
}

// asciiOnly escapes what is not ASCII, as many encoders do.
func asciiOnly(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}

// addressForms returns a text inside an address: escapers differ in what they leave,
// and in the case of their digits.
func addressForms(text string) []string {
	list := []string{url.QueryEscape(text), url.PathEscape(text)}
	for _, kept := range []string{"-_.~", "-_.~!'()*", "-_.~/"} {
		list = append(list, escapeAllBut(text, kept))
	}
	for _, form := range list {
		list = append(list, lowerEscapes(form))
	}
	return list
}

func escapeAllBut(text, kept string) string {
	var out strings.Builder
	for i := range len(text) {
		c := text[i]
		if '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte(kept, c) >= 0 {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

// lowerEscapes writes the digits of escapes in lower case.
func lowerEscapes(text string) string {
	out := []byte(text)
	for i := 0; i+2 < len(out); i++ {
		if out[i] == '%' {
			copy(out[i+1:], strings.ToLower(text[i+1:i+3]))
		}
	}
	return string(out)
}

// base64Forms returns a text in base 64 by itself, and what is always the same where
// it stands behind something else, as in user:password.
func base64Forms(text string) []string {
	var list []string
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		list = append(list, encoding.EncodeToString([]byte(text)),
			encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(text)))
		for before := range 3 {
			coded := encoding.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, before), text...))
			bits := 8 * (before + len(text))
			list = append(list, coded[(8*before+5)/6:bits/6])
		}
	}
	return list
}

// numberForms returns a number of JSON as it is written, and written out as
// PostgreSQL shows it, without an exponent and with or without the zeros at its
// end.
func numberForms(literal string) []string {
	if !strings.ContainsAny(literal, ".eE") {
		return []string{literal}
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(literal, "-")), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	list := []string{literal}
	shift, err := strconv.Atoi(exponent)
	if exponent != "" && (err != nil || shift > maxExpanded || shift < -maxExpanded) {
		return append(list, whole+fraction)
	}
	all := whole + fraction
	point := len(whole) + shift
	if point < 0 {
		all, point = strings.Repeat("0", -point)+all, 0
	}
	if point > len(all) {
		all += strings.Repeat("0", point-len(all))
	}
	written := strings.TrimLeft(all[:point], "0")
	if written == "" {
		written = "0"
	}
	if rest := all[point:]; rest != "" {
		list = append(list, written+"."+rest)
		if rest = strings.TrimRight(rest, "0"); rest != "" {
			written += "." + rest
		}
	}
	return append(list, written)
}
