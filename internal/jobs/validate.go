package jobs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// addresses are words that stand where a key stands in an address.
var addresses = []string{"new", "search", "batch"}

var keyForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// check gathers what is wrong with a new job; at is the prefix of its fields.
func (n New) check(p fault.Problems, at string) {
	title(p, at+"title", n.Title)
	p.Text(at+"body", n.Body, MaxBody)
	if _, isID := ids.Parse(n.Key); n.Key != "" && (isID || !keyForm.MatchString(n.Key)) {
		p.Add(at+"key", "Letters, digits and . _ - make a key of at most 64 characters.")
	}
	if slices.Contains(addresses, strings.ToLower(n.Key)) {
		p.Add(at+"key", "This word is part of an address; a job's key must be another one.")
	}
	p.Name(at+"kind", n.Kind, MaxName)
	p.Name(at+"product", n.Product, MaxName)
	p.Repo(at+"repo", n.Repo, MaxRepo)
	p.Name(at+"factory", n.Factory, MaxName)
	p.Line(at+"phase", n.Phase, MaxName)
	p.Text(at+"blocked_reason", n.BlockedReason, MaxReason)
	p.Line(at+"estimated_complexity", n.EstimatedComplexity, MaxComplexity)
	p.Line(at+"idempotency_key", n.IdempotencyKey, MaxIdempotencyKey)
	optional(p, at+"priority", n.Priority, 0, MaxPriority)
	optional(p, at+"max_retries", n.MaxRetries, 0, MaxTries)
	optional(p, at+"max_lost", n.MaxLost, 0, MaxTries)
	optional(p, at+"retry_backoff_seconds", n.RetryBackoffSeconds, 0, MaxBackoffSeconds)
	optional(p, at+"estimated_minutes", n.EstimatedMinutes, MinEstimate, MaxEstimate)
	positive(p, at+"token_budget", n.TokenBudget)
	budget(p, at+"budget_usd", n.BudgetNanos)
	optional(p, at+"complexity", n.Complexity, MinComplexity, MaxComplexityStep)
	n.Tier.check(p, at+"tier")
	p.Capabilities(at+"capabilities", n.Capabilities, MaxCapabilities)
	p.List(at+"tags", n.Tags, MaxTags, MaxName)
	p.Files(at+"files", n.Files, MaxFiles, MaxFile)
	p.List(at+"acceptance", n.Acceptance, MaxAcceptance, MaxCriterion)
	if len(n.DependsOn) > MaxDependencies {
		p.Add(at+"depends_on", "It must have at most %d dependencies.", MaxDependencies)
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
	p.Line(field, s, MaxTitle)
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
	if len(n.SecretKeys) > MaxSecrets {
		p.Add(field, "It must have at most %d entries.", MaxSecrets)
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
		if count := utf8.RuneCountInString(key); count < 1 || count > MaxSecretKey {
			p.Add(one, "The key of a secret has 1 to %d characters.", MaxSecretKey)
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
	p.Text("body", orDefault(c.Body, ""), MaxBody)
	p.Line("phase", orDefault(c.Phase, ""), MaxName)
	p.Line("estimated_complexity", orDefault(c.EstimatedComplexity, ""), MaxComplexity)
	p.Name("factory", orDefault(c.Factory, ""), MaxName)
	p.Repo("repo", orDefault(c.Repo, ""), MaxRepo)
	optional(p, "priority", c.Priority, 0, MaxPriority)
	optional(p, "estimated_minutes", c.EstimatedMinutes, MinEstimate, MaxEstimate)
	optional(p, "max_retries", c.MaxRetries, 0, MaxTries)
	p.List("tags", orDefault(c.Tags, nil), MaxTags, MaxName)
	p.Files("files", orDefault(c.Files, nil), MaxFiles, MaxFile)
	p.List("acceptance", orDefault(c.Acceptance, nil), MaxAcceptance, MaxCriterion)
	p.Capabilities("capabilities", orDefault(c.Capabilities, nil), MaxCapabilities)
	positive(p, "token_budget", c.TokenBudget)
	budget(p, "budget_usd", c.BudgetNanos)
	optional(p, "complexity", c.Complexity, MinComplexity, MaxComplexityStep)
	orDefault(c.Tier, NoTier).check(p, "tier")
	if len(orDefault(c.DependsOn, nil)) > MaxDependencies {
		p.Add("depends_on", "It must have at most %d dependencies.", MaxDependencies)
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
	"priority":             func(j *Job) { j.Priority = DefaultPriority },
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
	"budget_usd":           func(j *Job) { j.BudgetNanos = nil },
	"complexity":           func(j *Job) { j.Complexity = nil },
	"tier":                 func(j *Job) { j.Tier = NoTier },
	"max_retries":          func(j *Job) { j.MaxRetries = DefaultMaxRetries },
	"review_required":      func(j *Job) { j.ReviewOverride = nil },
	"not_before":           func(j *Job) { j.NotBefore = nil },
	"depends_on":           func(*Job) {},
}

func positive(p fault.Problems, field string, n *int64) {
	if n != nil && *n < MinTokenBudget {
		p.Add(field, "It must be at least %d (it is %d).", MinTokenBudget, *n)
	}
}

// budget refuses an amount that no job can have.
func budget(p fault.Problems, field string, nanos *int64) {
	if nanos != nil && (*nanos < MinBudgetNanos || *nanos > MaxBudgetNanos) {
		p.Add(field, "It must be an amount of dollars like 12.34, above 0 and at most 1000000000, with at most 9 decimal places.")
	}
}

func (t Tier) check(p fault.Problems, field string) {
	if t != NoTier && !slices.Contains(Tiers, t) {
		p.Add(field, "It must be small, standard or large.")
	}
}
