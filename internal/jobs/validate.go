package jobs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
)

// Limits of what people and agents may write, in characters or entries. The
// schema has the same; here they get a sentence.
const (
	maxTitle      = 200
	maxBody       = 100_000
	maxName       = 64
	maxRepo       = 128
	maxTokens     = 32
	maxToken      = 64
	maxTags       = 20
	maxAcceptance = 50
	maxCriterion  = 500
	maxDepends    = 100
	// MaxBatch is how many jobs one request may create.
	MaxBatch = 1000
)

var (
	keyForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	tokenForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._+-]*(:[A-Za-z0-9][A-Za-z0-9._+/@-]*)?$`)
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/@-]*$`)
)

// problems gathers what is wrong with an input, by field.
type problems map[string]string

func (p problems) add(field, format string, args ...any) {
	if _, taken := p[field]; !taken {
		p[field] = fmt.Sprintf(format, args...)
	}
}

func (p problems) fault() error {
	if len(p) == 0 {
		return nil
	}
	return fault.InvalidFields(p)
}

// text checks a line of text, or several where lines is set.
func (p problems) text(field, s string, limit int, lines bool) {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		p.add(field, "It holds characters that are not text.")
		return
	}
	if n := utf8.RuneCountInString(s); n > limit {
		p.add(field, "It has %d characters; at most %d fit.", n, limit)
	}
	if !lines && strings.ContainsFunc(s, unicode.IsControl) {
		p.add(field, "Line breaks and control characters are not possible here.")
	}
}

func (p problems) number(field string, v *int, low, high int) {
	if v != nil && (*v < low || *v > high) {
		p.add(field, "It is %d; %d to %d is possible.", *v, low, high)
	}
}

func (p problems) name(field, s string, limit int) {
	if s == "" {
		return
	}
	p.text(field, s, limit, false)
	if !nameForm.MatchString(s) {
		p.add(field, "Letters, digits and . _ / @ - make a name.")
	}
}

// CapabilityProblem says what is wrong with a capability token, "" where nothing is.
func CapabilityProblem(token string) string {
	if len(token) > maxToken {
		return fmt.Sprintf("A capability has at most %d characters.", maxToken)
	}
	if !tokenForm.MatchString(token) {
		return "A capability looks like has:git or node:20, in lower case before the colon."
	}
	return ""
}

func (p problems) capabilities(field string, list []string) {
	if len(list) > maxTokens {
		p.add(field, "At most %d capabilities fit.", maxTokens)
		return
	}
	for i, token := range list {
		if problem := CapabilityProblem(token); problem != "" {
			p.add(fmt.Sprintf("%s[%d]", field, i), "%s", problem)
		}
	}
}

func (p problems) list(field string, list []string, entries, limit int) {
	if len(list) > entries {
		p.add(field, "At most %d entries fit.", entries)
		return
	}
	for i, s := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		p.text(at, s, limit, false)
		if strings.TrimSpace(s) == "" {
			p.add(at, "It is empty.")
		}
	}
}

// check gathers what is wrong with a new job; at is the prefix of its fields.
func (n New) check(p problems, at string) {
	if strings.TrimSpace(n.Title) == "" {
		p.add(at+"title", "A job needs a title.")
	}
	p.text(at+"title", n.Title, maxTitle, false)
	p.text(at+"body", n.Body, maxBody, true)
	if _, isID := ids.Parse(n.Key); n.Key != "" && (isID || !keyForm.MatchString(n.Key)) {
		p.add(at+"key", "Letters, digits and . _ - make a key of at most 64 characters.")
	}
	p.name(at+"kind", n.Kind, maxName)
	p.name(at+"product", n.Product, maxName)
	p.name(at+"repo", n.Repo, maxRepo)
	p.name(at+"factory", n.Factory, maxName)
	p.text(at+"phase", n.Phase, maxName, false)
	p.text(at+"estimated_complexity", n.EstimatedComplexity, 32, false)
	p.text(at+"idempotency_key", n.IdempotencyKey, 255, false)
	p.number(at+"priority", n.Priority, 0, 10)
	p.number(at+"max_retries", n.MaxRetries, 0, 100)
	p.number(at+"max_lost", n.MaxLost, 0, 100)
	p.number(at+"retry_backoff_seconds", n.RetryBackoffSeconds, 0, 86400)
	p.number(at+"estimated_minutes", n.EstimatedMinutes, 1, 100_000)
	if n.TokenBudget != nil && *n.TokenBudget < 1 {
		p.add(at+"token_budget", "It is %d; 1 or more is possible.", *n.TokenBudget)
	}
	p.capabilities(at+"capabilities", n.Capabilities)
	p.list(at+"tags", n.Tags, maxTags, maxName)
	p.list(at+"acceptance", n.Acceptance, maxAcceptance, maxCriterion)
	if len(n.DependsOn) > maxDepends {
		p.add(at+"depends_on", "At most %d dependencies fit.", maxDepends)
	}
	p.object(at+"input_context", n.InputContext)
}

// object checks a free JSON object: PostgreSQL can hold no NUL inside one.
func (p problems) object(field string, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		p.add(field, "It is not a JSON object.")
		return
	}
	if strings.Contains(string(raw), `\u0000`) {
		p.add(field, "It holds characters that are not text.")
	}
}

// check gathers what is wrong with an edit.
func (c Patch) check() error {
	p := problems{}
	if c.Version < 1 {
		p.add("version", "It is needed: the version that the edit was made on.")
	}
	if c.Title != nil {
		p.text("title", *c.Title, maxTitle, false)
		if strings.TrimSpace(*c.Title) == "" {
			p.add("title", "A job needs a title.")
		}
	}
	p.text("body", orDefault(c.Body, ""), maxBody, true)
	p.text("phase", orDefault(c.Phase, ""), maxName, false)
	p.text("estimated_complexity", orDefault(c.EstimatedComplexity, ""), 32, false)
	p.name("factory", orDefault(c.Factory, ""), maxName)
	p.name("repo", orDefault(c.Repo, ""), maxRepo)
	p.number("priority", c.Priority, 0, 10)
	p.number("estimated_minutes", c.EstimatedMinutes, 1, 100_000)
	p.list("tags", orDefault(c.Tags, nil), maxTags, maxName)
	p.list("acceptance", orDefault(c.Acceptance, nil), maxAcceptance, maxCriterion)
	p.capabilities("capabilities", orDefault(c.Capabilities, nil))
	return p.fault()
}
