package passwords

import (
	"slices"
	"strings"
	"unicode"
)

// leastOwn is how many characters a password has to have beside words that
// everybody tries first.
const leastOwn = 6

// commonWords are what the most frequent passwords of twelve and more characters
// are made of: written once, several after another, or with digits and signs
// around. The list of breached passwords that begins so is cut to its words.
var commonWords = strings.Fields(`
	password passwort passw0rd p4ssword p4ssw0rd pass word kennwort motdepasse contrasena
	admin administrator root superuser user username guest test tester testing demo example sample
	login letmein letmeinnow welcome willkommen bienvenue changeme changeit default secret geheim
	iloveyou iloveu loveyou lovely sunshine princess football baseball basketball superman batman spiderman
	dragon monkey shadow master michael jennifer jordan hunter liverpool chelsea arsenal barcelona
	starwars pokemon minecraft trustno whatever internet computer samsung google facebook microsoft
	qwerty qwertz azerty qwertyuiop qwertzuiop azertyuiop asdfghjkl asdfgh asdf zxcvbnm zxcvbn yxcvbnm
	qazwsx qazwsxedc edcrfv rfvtgb 1qaz 2wsx 3edc 4rfv 1qaz2wsx 1q2w3e4r 1q2w3e4r5t 1q2w3e q1w2e3r4
	abc abcd abcdef abcdefg abcdefgh abcdefghijkl abc123
	fleetboard fleet board server company corporate office january february march april may june july
	august september october november december monday tuesday wednesday thursday friday saturday sunday
	spring summer autumn winter sommer herbst`)

// commonPhrases are long passwords that are known as they stand, letters only.
var commonPhrases = strings.Fields(`
	correcthorsebatterystaple horsebatterystaple thequickbrownfox thequickbrownfoxjumps
	thequickbrownfoxjumpsoverthelazydog tobeornottobe maytheforcebewithyou opensesame
	openupthedoor iamthebest thisismypassword thisisapassword mypassword mypasswordis ihatepasswords
	passwordpassword neverendingstory unbelievable professional championship manchesterunited
	metallica ilovemyfamily ilovemymom iloveyouforever iloveyousomuch godisgood jesuschrist`)

// common reports whether a password is one that is tried first: a known phrase,
// or common words, the parts of the account's e-mails and mere repetition, with
// too little of its own besides.
func common(password string, emails ...string) bool {
	lower := strings.ToLower(password)
	if slices.Contains(commonPhrases, onlyLetters(lower)) || repeats(lower) || steps(lower) {
		return true
	}
	words := slices.Clone(commonWords)
	for _, email := range emails {
		words = append(words, strings.FieldsFunc(strings.ToLower(email), notWord)...)
	}
	// The longest first: what is left of a shorter one would look like its own.
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
	rest, found := lower, false
	for _, word := range words {
		if len(word) < 3 || !strings.Contains(rest, word) {
			continue
		}
		rest, found = strings.ReplaceAll(rest, word, " "), true
	}
	return found && len(onlyLetters(rest)) < leastOwn && own(rest) < 2*leastOwn
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
	for size := 1; size <= 4 && size < len(text); size++ {
		if strings.HasPrefix(strings.Repeat(text[:size], len(text)/size+1), text) {
			return true
		}
	}
	return false
}

// steps reports whether nearly every character follows the one before, up or
// down: 123456789012, abcdefghijkl.
func steps(text string) bool {
	runes, n := []rune(text), 0
	for i := 1; i < len(runes); i++ {
		switch runes[i] - runes[i-1] {
		case 1, -1, '0' - '9', '9' - '0':
			n++
		}
	}
	return n >= len(runes)-3
}
