package passwords

import (
	_ "embed" // the lists
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

const (
	// leastOwn is how many characters a password has to have beside words that
	// everybody tries first.
	leastOwn = 6
	// shortestWord is the length of the shortest word that counts, in bytes.
	shortestWord = 3
	// shortestWalk is the length of the shortest row of keys that counts as a word.
	shortestWalk = 4
)

// commonText are words and whole passwords, by language.
//
//go:embed common.txt
var commonText string

// lists are what is tried first: words that frequent passwords of twelve and more
// characters are made of (written once, several after another, or with digits and
// signs around), and long passwords that are known as they stand, letters only.
var lists = sync.OnceValues(func() (words, phrases []string) {
	for line := range strings.Lines(commonText) {
		switch rest, isPhrases := strings.CutPrefix(line, "="); {
		case strings.HasPrefix(line, "#"):
		case isPhrases:
			phrases = append(phrases, strings.Fields(plain(rest))...)
		default:
			words = append(words, strings.Fields(plain(line))...)
		}
	}
	return words, phrases
})

// rows are the rows of keys of layouts, plain: English, German, French, and the Russian ones.
var rows = strings.Fields(plain(`1234567890
	qwertyuiop asdfghjkl zxcvbnm qwertzuiopu asdfghjkloa yxcvbnm azertyuiop qsdfghjklm wxcvbn
	йцукенгшщзхъ фывапролджэ ячсмитьбю`))

// common reports whether a password is one that is tried first: a known phrase,
// or common words, rows of keys, the parts of the account's e-mails and mere
// repetition, with too little of its own besides.
func common(password string, emails ...string) bool {
	lower := plain(password)
	words, phrases := lists()
	if slices.Contains(phrases, onlyLetters(lower)) || repeats(lower) || steps(lower) {
		return true
	}
	words = slices.Clone(words)
	for _, email := range emails {
		words = append(words, strings.FieldsFunc(plain(email), notWord)...)
	}
	// The longest first: what is left of a shorter one would look like its own.
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
	joined := joiners.Replace(lower)
	for _, text := range []string{lower, joined, digitLetters.Replace(joined)} {
		if hasLittleElse(text, words) {
			return true
		}
	}
	return false
}

// joiners are what stands between words, digitLetters what stands for letters.
var (
	joiners      = strings.NewReplacer(" ", "", "-", "", "_", "", ".", "")
	digitLetters = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s")
)

// hasLittleElse reports whether a text has words, or rows of keys, and little else.
func hasLittleElse(text string, words []string) bool {
	rest, found := text, false
	for _, word := range words {
		if len(word) < shortestWord || !strings.Contains(rest, word) {
			continue
		}
		rest, found = strings.ReplaceAll(rest, word, " "), true
	}
	walked := withoutWalks(rest)
	found = found || walked != rest
	return found && len([]rune(onlyLetters(walked))) < leastOwn && own(walked) < 2*leastOwn
}

// withoutWalks returns a text without its rows of keys, in either direction.
func withoutWalks(text string) string {
	letters := []rune(text)
	var out strings.Builder
	for i := 0; i < len(letters); {
		n := walk(letters[i:])
		if n >= shortestWalk {
			out.WriteByte(' ')
			i += n
			continue
		}
		out.WriteRune(letters[i])
		i++
	}
	return out.String()
}

// walk returns how many keys a text begins with that stand side by side.
func walk(text []rune) int {
	longest := 0
	for _, row := range rows {
		keys := []rune(row)
		for _, step := range []int{1, -1} {
			at, n := slices.Index(keys, text[0]), 0
			for ; at >= 0 && at < len(keys) && n < len(text) && keys[at] == text[n]; at += step {
				n++
			}
			longest = max(longest, n)
		}
	}
	return longest
}

// otherLetters are letters that are written with others where a keyboard lacks them.
var otherLetters = strings.NewReplacer("ł", "l", "ß", "ss", "ø", "o", "æ", "ae", "ı", "i")

// plain returns a text in lower case and without accents.
func plain(text string) string {
	// One for each call, since it has a state.
	withoutAccents := transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn)))
	folded, _, err := transform.String(withoutAccents, strings.ToLower(text))
	if err != nil {
		folded = strings.ToLower(text)
	}
	return otherLetters.Replace(folded)
}

// own counts the characters that differ from the one before them.
func own(text string) int {
	n, before := 0, rune(0)
	for _, r := range text {
		if r != before && r != ' ' {
			n++
		}
		before = r
	}
	return n
}

func notWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func onlyLetters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, text)
}

// repeats reports whether the text is one short piece again and again.
func repeats(text string) bool {
	letters := []rune(text)
	for size := 1; size <= 4 && size < len(letters); size++ {
		if strings.HasPrefix(strings.Repeat(string(letters[:size]), len(letters)/size+1), text) {
			return true
		}
	}
	return false
}

// steps reports whether nearly every character follows the one before, up or
// down: 123456789012, abcdefghijkl.
func steps(text string) bool {
	letters, n := []rune(text), 0
	for i := 1; i < len(letters); i++ {
		switch letters[i] - letters[i-1] {
		case 1, -1, '0' - '9', '9' - '0':
			n++
		}
	}
	return n >= len(letters)-3
}
