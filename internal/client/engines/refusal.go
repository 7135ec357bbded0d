package engines

import (
	"regexp"
	"strings"
)

// refusal is what a provider's answer means for the attempt.
type refusal struct {
	kind      string // as POST /fleet/fail takes it
	retryable bool
}

// signs are the words by which providers and programs say why a call was refused, in the order
// in which they are looked for: OpenAI says that an account is empty with the status 429.
var signs = []struct {
	words *regexp.Regexp
	refusal
}{
	{matchAny(
		`credit balance is too low`,
		`insufficient[_ ](quota|credits|balance|funds)`,
		`exceeded your current quota`,
		`payment required`,
		`billing[_ ](error|hard limit|not active)`,
		`(?-i:\b402 [A-Z])`,
	), refusal{"billing", true}},
	{matchAny(
		`prompt is too long`,
		`context[_ ]length`,
		`context window`,
		`maximum context`,
		`input (is|length) too long`,
		`too many (input )?tokens`,
	), refusal{"context_overflow", true}},
	{matchAny(
		`(in)?valid (x-)?api[- ]key`,
		`authentication[_ ](error|failed)`,
		`unauthori[sz]ed`,
		`permission_error`,
		`not logged in`,
		`run /login`,
		`(token|key|credentials?) (has |have |is |are )?(been )?(expired|revoked|disabled)`,
		`(?-i:\b40[13] [A-Z])`,
		`missing (environment variable|api key)`,
	), refusal{"auth", true}},
	{matchAny(
		`usage policy`,
		`content[_ ](policy|filter)`,
		`flagged as`,
		`safety (system|reasons)`,
		`refused to answer`,
	), refusal{"refused", false}},
}

// matchAny compiles a pattern that matches any of the alternatives, in upper or lower case.
func matchAny(alternatives ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.Join(alternatives, "|"))
}

// refusedBy reads why a provider refused a call from its status, 0 where that is not known, and
// its message; ok is false where neither says.
func refusedBy(status int, message string) (r refusal, ok bool) {
	for _, s := range signs {
		if s.words.MatchString(message) {
			return s.refusal, true
		}
	}
	switch status {
	case 401, 403:
		return refusal{"auth", true}, true
	case 402:
		return refusal{"billing", true}, true
	case 413: // the request is too large
		return refusal{"context_overflow", true}, true
	}
	return refusal{}, false
}
