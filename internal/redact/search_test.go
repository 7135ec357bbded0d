package redact_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/fleetboard/fleetboard/internal/redact"
)

func TestSearchFindsAValue(t *testing.T) {
	const value = `p"ss/word+ 97`
	quoted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	s := redact.NewSearch(quoted, json.RawMessage(`"short"`), json.RawMessage(`{"key":"in an object"}`))
	for text, want := range map[string]bool{
		"":                           false,
		"nothing of it":              false,
		"short":                      false,
		value:                        true,
		"before " + value + " after": true,
		strings.Repeat("x", 1<<20) + value + strings.Repeat("y", 1<<20): true,
		`p"p"ss/word+ 97`:                       true,
		`p"ss/word+ 9`:                          false,
		`https://me:p%22ss%2Fword%2B%2097@host`: true,
		`q=p%22ss%2fword%2b+97`:                 true,
		`{"v":"p\"ss/word+ 97"}`:                true,
		`Basic bWU6cCJzcy93b3JkKyA5Nw==`:        true,
		"x in an object x":                      true,
	} {
		if got := s.InText(text); got != want {
			t.Errorf("in the text %.60q it is %v", text, got)
		}
		for _, r := range []io.Reader{strings.NewReader(text), iotest.HalfReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
			if got, err := s.In(r); err != nil || got != want {
				t.Errorf("in %.60q it is %v, %v", text, got, err)
			}
		}
	}
}

func TestASearchForNothingFindsNothing(t *testing.T) {
	for _, s := range []*redact.Search{redact.NewSearch(), redact.NewSearch(json.RawMessage(`""`), json.RawMessage(`"a"`))} {
		if found, err := s.In(strings.NewReader("a")); found || err != nil || s.InText("a") {
			t.Errorf("it is %v, %v", found, err)
		}
	}
}

func TestASearchSaysWhatCannotBeRead(t *testing.T) {
	if _, err := redact.NewSearch(json.RawMessage(`"long enough"`)).In(iotest.ErrReader(io.ErrUnexpectedEOF)); err == nil {
		t.Error("it says nothing")
	}
}
