package fulltext

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxWord bounds a word, in bytes: of a longer one the beginning counts.
const maxWord = 100

// Word is a word as it is compared, and where it stands in its text, in bytes.
type Word struct {
	Text     string
	From, To int
}

// Words cuts a text into its words: runs of letters, numbers and marks, in one case and one
// spelling. What is between them, also in paths, versions and names of code, only parts them.
// In scripts that write no blanks between words each character is a word, and so is the v of a
// version.
//
// It is the one rule by which texts and what is looked for in them are cut.
func Words(text string) iter.Seq[Word] {
	return func(yield func(Word) bool) {
		for at := 0; at < len(text); {
			from, to, plain := next(text, at)
			if from == to {
				return
			}
			at = to
			w := fold(text[from:to], plain)
			if w != "" && !yield(Word{w, from, to}) {
				return
			}
		}
	}
}

// next finds the next word of a text from a place on, and whether it is of ASCII alone; from
// and to are the same where there is none.
func next(text string, at int) (from, to int, plain bool) {
	from, plain = -1, true
	for at < len(text) {
		r, n := rune(text[at]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(text[at:])
		}
		switch {
		case from < 0 && begins(r):
			from, plain = at, r < utf8.RuneSelf
			switch {
			case !isSpaced(r):
				return from, endOfCluster(text, at+n), false
			case (r == 'v' || r == 'V') && at+1 < len(text) && '0' <= text[at+1] && text[at+1] <= '9':
				return from, at + 1, true
			}
		case from >= 0 && (!goesOn(r) || !isSpaced(r)):
			return from, at, plain
		case from >= 0 && r >= utf8.RuneSelf:
			plain = false
		}
		at += n
	}
	if from < 0 {
		return at, at, plain
	}
	return from, at, plain
}

// endOfCluster is where a character ends whose first rune ends at a place: behind its marks.
func endOfCluster(text string, at int) int {
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		if begins(r) || !goesOn(r) {
			return at
		}
		at += n
	}
	return at
}

// begins reports whether a word may begin with r.
func begins(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r)
}

// goesOn reports whether r belongs to a word that has begun.
func goesOn(r rune) bool {
	return begins(r) || r >= utf8.RuneSelf && (unicode.IsMark(r) || isUnseen(r))
}

// isUnseen reports whether r only says how what stands beside it is shown or broken into lines.
func isUnseen(r rune) bool {
	switch r {
	case '\u00ad', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u20e3':
		return true
	}
	return unicode.Is(unicode.Variation_Selector, r)
}

// isSpaced reports whether the script of r puts blanks between words.
func isSpaced(r rune) bool {
	return r < 0x0e00 || !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar)
}

// oneI takes the i with and without a dot for one: in other languages than Turkish the upper
// case of ı is I, and the lower case of İ is i.
var oneI = strings.NewReplacer("i\u0307", "i", "ı", "i")

// seen is r where it counts in a word, and -1 where not.
func seen(r rune) rune {
	if isUnseen(r) || !goesOn(r) {
		return -1
	}
	return r
}

// fold gives a word as it is compared, "" where nothing of it is left.
func fold(word string, plain bool) string {
	if plain {
		return strings.ToLower(word[:min(len(word), maxWord)])
	}
	// Lower case first: cases.Fold alone turns the two cases of Cherokee into one another.
	word = strings.ToLower(norm.NFKC.String(strings.Map(seen, word)))
	word = oneI.Replace(norm.NFKC.String(cases.Fold().String(word)))
	word = norm.NFKC.String(strings.Map(seen, word))
	if len(word) > maxWord {
		word = strings.ToValidUTF8(word[:maxWord], "")
	}
	return word
}
