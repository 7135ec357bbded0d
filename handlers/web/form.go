package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// Fits reports whether a field is text of at most maxLength characters.
func Fits(text string, maxLength int) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0) && utf8.RuneCountInString(text) <= maxLength
}

// Sentence returns a refusal with the problem of its first field as message, for answers that
// show no form.
func Sentence(err error) error {
	if !fault.Is(err, fault.Validation) {
		return err
	}
	return fault.Wrap(err, fault.Validation, "%s", FieldText(err))
}

// FieldText returns the problem of the first refused field by name, else the refusal's message.
func FieldText(err error) string {
	f := fault.From(err)
	for _, field := range f.Names() {
		return strings.ToUpper(field[:1]) + field[1:] + ": " + f.Fields[field]
	}
	return f.Message
}

// SplitKeys splits lists of keys: without JavaScript several are written into one field.
func SplitKeys(list []string) []string {
	var keys []string
	for _, text := range list {
		keys = append(keys, strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || r <= ' ' })...)
	}
	return keys
}

// NonBlank returns the texts trimmed, without empty ones.
func NonBlank(list []string) []string {
	var out []string
	for _, text := range list {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// Distinct returns the texts trimmed, without empty ones and repetitions.
func Distinct(list []string) []string {
	var out []string
	for _, text := range NonBlank(list) {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// NumberChoice reads a whole number; nil for an empty text. A problem is added to wrong under the
// field's name.
func NumberChoice(field, text string, low, high int, wrong map[string]string) *int {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		wrong[field] = "A whole number from " + strconv.Itoa(low) + " to " + strconv.Itoa(high) + "."
		return nil
	}
	return &n
}

// Form reads the posted fields. Faults: TooLarge, UnsupportedMedia, Malformed.
func Form(c echo.Context) (url.Values, error) {
	r := c.Request()
	kind, _, _ := strings.Cut(r.Header.Get(echo.HeaderContentType), ";")
	if kind != "" && !strings.EqualFold(strings.TrimSpace(kind), echo.MIMEApplicationForm) {
		return nil, fault.New(fault.UnsupportedMedia, "The form was sent in a way that is not understood.")
	}
	if err := r.ParseForm(); err != nil {
		var over *http.MaxBytesError
		if errors.As(err, &over) {
			return nil, TooLarge(err)
		}
		return nil, fault.Wrap(err, fault.Malformed, "The form could not be read.")
	}
	return r.PostForm, nil
}
