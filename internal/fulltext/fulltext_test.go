package fulltext_test

import (
	"strings"
	"testing"

	"fleetboard/internal/fault"
	"fleetboard/internal/fulltext"
)

func TestQuery(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"drain":                                "drain:*",
		"drain a factory":                      "drain & a & factory:*",
		`"drain a factory"`:                    "(drain <-> a <-> factory)",
		`cache "drain a"`:                      "cache & (drain <-> a)",
		`"drain a" cache`:                      "(drain <-> a) & cache:*",
		`"drain a`:                             "(drain <-> a)",
		`"drain" ""`:                           "(drain)",
		"FB-12":                                "FB & 12:*",
		"max_rows":                             "max_rows:*",
		"Straße, naïve":                        "Straße & naïve:*",
		"fox' | !dog & (cat:* )":               "fox & dog & cat:*",
		`a\b <-> c`:                            "a & b & c:*",
		strings.Repeat("x", fulltext.MaxQuery): strings.Repeat("x", fulltext.MaxQuery) + ":*",
	} {
		if got, err := fulltext.Query(text); got != want || err != nil {
			t.Errorf("%s is %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestQueryRefusesWhatHasNoWord(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", ` -"`, `"" !`, "a\x00", "a\xff", strings.Repeat("x", fulltext.MaxQuery+1)} {
		got, err := fulltext.Query(text)
		if refusal := fault.From(err); got != "" || !fault.Is(err, fault.Validation) || refusal.Fields["q"] == "" {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}
