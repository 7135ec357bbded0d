package jobs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
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
	maxTags       = 20
	maxAcceptance = 50
	maxCriterion  = 500
	maxDepends    = 100
	maxSecrets    = 50
	maxSecretKey  = 128
	// maxSecretBytes bounds the values of one job's secrets together: each text
	// that its agent writes is searched for all of them.
	maxSecretBytes = 16 << 10
	// MaxFiles is how many globs of files a job may declare, MaxFilesTouched how many
	// files its agent may name, MaxFile how many characters each of them has.
	MaxFiles        = 100
	MaxFilesTouched = 1000
	MaxFile         = 512
	// MaxCommit and MaxURL bound what is said of merged work, in characters.
	MaxCommit = 100
	MaxURL    = 2000
	// MaxBatch is how many jobs one request may create.
	MaxBatch = 1000
)

// addresses are words that stand where a key stands in an address.
var addresses = []string{"new", "search", "batch"}

var keyForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// check gathers what is wrong with a new job; at is the prefix of its fields.
func (n New) check(p fault.Problems, at string) {
	title(p, at+"title", n.Title)
	p.Text(at+"body", n.Body, maxBody)
	if _, isID := ids.Parse(n.Key); n.Key != "" && (isID || !keyForm.MatchString(n.Key)) {
		p.Add(at+"key", "Letters, digits and . _ - make a key of at most 64 characters.")
	}
	if slices.Contains(addresses, strings.ToLower(n.Key)) {
		p.Add(at+"key", "This word is part of an address; a job's key must be another one.")
	}
	p.Name(at+"kind", n.Kind, maxName)
	p.Name(at+"product", n.Product, maxName)
	p.Name(at+"repo", n.Repo, maxRepo)
	p.Name(at+"factory", n.Factory, maxName)
	p.Line(at+"phase", n.Phase, maxName)
	p.Line(at+"estimated_complexity", n.EstimatedComplexity, 32)
	p.Line(at+"idempotency_key", n.IdempotencyKey, 255)
	optional(p, at+"priority", n.Priority, 0, 10)
	optional(p, at+"max_retries", n.MaxRetries, 0, 100)
	optional(p, at+"max_lost", n.MaxLost, 0, 100)
	optional(p, at+"retry_backoff_seconds", n.RetryBackoffSeconds, 0, 86400)
	optional(p, at+"estimated_minutes", n.EstimatedMinutes, 1, 100_000)
	positive(p, at+"token_budget", n.TokenBudget)
	p.Capabilities(at+"capabilities", n.Capabilities, maxTokens)
	p.List(at+"tags", n.Tags, maxTags, maxName)
	p.List(at+"files", n.Files, MaxFiles, MaxFile)
	p.List(at+"acceptance", n.Acceptance, maxAcceptance, maxCriterion)
	if len(n.DependsOn) > maxDepends {
		p.Add(at+"depends_on", "It must have at most %d dependencies.", maxDepends)
	}
	object(p, at+"input_context", n.InputContext)
	n.checkSecrets(p, at+"secret_keys")
	writable(p, at+"not_before", n.NotBefore)
}

// writable refuses a time that RFC 3339 cannot write in UTC: no answer could
// ever tell it.
func writable(p fault.Problems, field string, t *time.Time) {
	if t == nil {
		return
	}
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		p.Add(field, "Its year must be 1 to 9999 (it is %d).", year)
	}
}

func title(p fault.Problems, field, s string) {
	p.Line(field, s, maxTitle)
	if strings.TrimSpace(s) == "" {
		p.Add(field, "A job needs a title.")
	}
}

func optional(p fault.Problems, field string, n *int, low, high int) {
	if n != nil {
		p.Number(field, *n, low, high)
	}
}

// object checks a free JSON object: PostgreSQL can hold no NUL inside one.
func object(p fault.Problems, field string, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		p.Add(field, "It must be a JSON object.")
		return
	}
	if strings.Contains(string(raw), `\u0000`) {
		p.Add(field, "It must hold text only: UTF-8, without NUL characters.")
	}
}

// checkSecrets checks which inputs are secret. No sentence repeats a key: one that
// is unknown may be a value by mistake.
func (n New) checkSecrets(p fault.Problems, field string) {
	if len(n.SecretKeys) == 0 {
		return
	}
	if len(n.SecretKeys) > maxSecrets {
		p.Add(field, "It must have at most %d entries.", maxSecrets)
		return
	}
	var inputs map[string]json.RawMessage
	_ = json.Unmarshal(n.InputContext, &inputs) // what is no object was refused
	size := 0
	for i, key := range n.SecretKeys {
		one := fmt.Sprintf("%s[%d]", field, i)
		value, known := inputs[key]
		if !known {
			p.Add(one, "It is no key of input_context.")
		}
		if count := utf8.RuneCountInString(key); count < 1 || count > maxSecretKey {
			p.Add(one, "The key of a secret has 1 to %d characters.", maxSecretKey)
		}
		if size += len(value); size > maxSecretBytes {
			p.Add(one, "The values of a job's secrets have more than %d bytes together.", maxSecretBytes)
			return
		}
	}
}

// check gathers what is wrong with an edit.
func (c Patch) check() error {
	p := fault.Problems{}
	if c.Version < 1 {
		p.Add("version", "It must be given: the version that the edit was made on.")
	}
	if c.Title != nil {
		title(p, "title", *c.Title)
	}
	p.Text("body", orDefault(c.Body, ""), maxBody)
	p.Line("phase", orDefault(c.Phase, ""), maxName)
	p.Line("estimated_complexity", orDefault(c.EstimatedComplexity, ""), 32)
	p.Name("factory", orDefault(c.Factory, ""), maxName)
	p.Name("repo", orDefault(c.Repo, ""), maxRepo)
	optional(p, "priority", c.Priority, 0, 10)
	optional(p, "estimated_minutes", c.EstimatedMinutes, 1, 100_000)
	p.List("tags", orDefault(c.Tags, nil), maxTags, maxName)
	p.List("files", orDefault(c.Files, nil), MaxFiles, MaxFile)
	p.List("acceptance", orDefault(c.Acceptance, nil), maxAcceptance, maxCriterion)
	p.Capabilities("capabilities", orDefault(c.Capabilities, nil), maxTokens)
	positive(p, "token_budget", c.TokenBudget)
	if len(orDefault(c.DependsOn, nil)) > maxDepends {
		p.Add("depends_on", "It must have at most %d dependencies.", maxDepends)
	}
	for _, field := range c.Clear {
		if clearable[field] == nil {
			p.Add(field, "It cannot be empty.")
		}
	}
	writable(p, "not_before", c.NotBefore)
	return p.Err()
}

// clearable are the fields that an edit may clear, and what is left then.
var clearable = map[string]func(*Job){
	"body":                 func(j *Job) { j.Body = "" },
	"phase":                func(j *Job) { j.Phase = "" },
	"priority":             func(j *Job) { j.Priority = defaultPriority },
	"files":                func(j *Job) { j.Files = []string{} },
	"tags":                 func(j *Job) { j.Tags = []string{} },
	"acceptance":           func(j *Job) { j.Acceptance = []string{} },
	"acceptance_met":       func(j *Job) { j.AcceptanceMet = nil },
	"waits_for_children":   func(j *Job) { j.WaitsForChildren = false },
	"capabilities":         func(j *Job) { j.Capabilities = []string{} },
	"factory":              func(j *Job) { j.Factory = "" },
	"repo":                 func(j *Job) { j.Repo = "" },
	"estimated_complexity": func(j *Job) { j.EstimatedComplexity = "" },
	"estimated_minutes":    func(j *Job) { j.EstimatedMinutes = nil },
	"token_budget":         func(j *Job) { j.TokenBudget = nil },
	"not_before":           func(j *Job) { j.NotBefore = nil },
	"depends_on":           func(*Job) {},
}

func positive(p fault.Problems, field string, n *int64) {
	if n != nil && *n < 1 {
		p.Add(field, "It must be at least 1 (it is %d).", *n)
	}
}
