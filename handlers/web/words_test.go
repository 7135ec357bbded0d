package web

import "testing"

func TestWords(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		Plural(1, "job", "jobs"):         "1 job",
		Plural(1284, "job", "jobs"):      "1,284 jobs",
		JoinAnd(nil):                     "",
		JoinAnd([]string{"a", "b", "c"}): "a, b and c",
		FirstLine(" a\nb", 9):            "a",
		FirstLine("äöü and more", 5):     "äöü…",
		Nth(3):                           "third",
		Nth(12):                          "12th",
		initials("Mara Ilić"):            "MI",
		initials("ada"):                  "AD",
		initials("  "):                   "?",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
