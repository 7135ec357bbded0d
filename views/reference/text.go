package reference

import "strings"

// firstSentence returns the first sentence of a text.
func firstSentence(text string) string {
	sentence, _, more := strings.Cut(text, ". ")
	if more {
		return sentence + "."
	}
	return text
}
