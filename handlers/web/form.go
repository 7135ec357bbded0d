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

// Fits reports whether a field is text of at most so many characters.
func Fits(text string, most int) bool {
	return utf8.ValidString(text) && !strings.ContainsRune(text, 0) && utf8.RuneCountInString(text) <= most
}

// Sentence puts what is wrong with the fields into a refusal's message, for
// answers that show no form.
func Sentence(err error) error {
	if !fault.Is(err, fault.Validation) {
		return err
	}
	return fault.Wrap(err, fault.Validation, "%s", FieldText(err))
}

// FieldText returns what is wrong with the first refused field by name, else the refusal's
// message.
func FieldText(err error) string {
	f := fault.From(err)
	for _, field := range f.Names() {
		return strings.ToUpper(field[:1]) + field[1:] + ": " + f.Fields[field]
	}
	return f.Message
}

// SplitKeys takes lists of keys apart: without JavaScript several are written
// into one field.
func SplitKeys(list []string) []string {
	var keys []string
	for _, text := range list {
		keys = append(keys, strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || r <= ' ' })...)
	}
	return keys
}

// NonBlank trims texts and leaves out empty ones.
func NonBlank(list []string) []string {
	var out []string
	for _, text := range list {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// Distinct leaves out blanks and repetitions; the first of each stays.
func Distinct(list []string) []string {
	var out []string
	for _, text := range NonBlank(list) {
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// NumberChoice reads a number; what is wrong with it stands in wrong under the
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
