package jobs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Limits of a job and of a product: characters of a text, entries of a list, ranges of a
// number. Forms take them from here; TestLimitsAgree of handlers/api holds openapi.yaml and
// the CHECKs of the schema to them.
const (
	MaxKey            = 64
	MaxTitle          = 200
	MaxBody           = 100_000
	MaxName           = 64 // of a kind, a product, a factory, a phase or a tag
	MaxRepo           = 128
	MaxCapabilities   = 32
	MaxTags           = 20
	MaxAcceptance     = 50
	MaxCriterion      = 500
	MaxDependencies   = 100
	MaxSecrets        = 50
	MaxSecretKey      = 128
	MaxComplexity     = 32
	MaxIdempotencyKey = 255
	MaxPriority       = 10 // from 0
	MaxTries          = 100
	MaxBackoffSeconds = 24 * 60 * 60
	MinEstimate       = 1 // minutes
	MaxEstimate       = 100_000
	MinTokenBudget    = 1
	MinBudgetNanos    = 1
	MaxBudgetNanos    = 1_000_000_000_000_000_000 // a billion dollars
	MinComplexity     = 1
	MaxComplexityStep = 5
	// MaxFiles is how many globs of files a job may declare, MaxFilesTouched how many
	// files its agent may name, MaxFile how many characters each of them has.
	MaxFiles        = 100
	MaxFilesTouched = 1000
	MaxFile         = 512
	// MaxCommit and MaxURL bound what is said of merged work, in characters.
	MaxCommit = 100
	MaxURL    = 2000
	// MaxMergeInto and MaxMergeChecks bound a product's branch and command for merges, in
	// characters, MaxProofCommand its command that proves work.
	MaxMergeInto    = 200
	MaxMergeChecks  = 1000
	MaxProofCommand = 1000
	// MaxFiledPerAttempt is how many jobs an agent may file while it holds one lease. Of the
	// jobs that come of one root, each found while another one was worked on: MaxFiledDepth
	// is how many steps the last may be away, MaxFiledOpen how many may be open at a time,
	// MaxFiledPerHour how many may come in an hour.
	MaxFiledPerAttempt = 20
	MaxFiledDepth      = 5
	MaxFiledOpen       = 50
	MaxFiledPerHour    = 60
	// MaxBatch is how many jobs one request may create.
	MaxBatch = 1000
	// MaxRepos is how many repos a product owns.
	MaxRepos       = 200
	MinReviewLimit = 1
	MaxReviewLimit = 100_000
	// DefaultBranchRetention and MaxBranchRetention are how many days the branches of an ended
	// job stay at the origin; 0 is for ever.
	DefaultBranchRetention = 30
	MaxBranchRetention     = 3650
	// MaxReason bounds why a job is blocked, and what people write about a change, in characters.
	MaxReason = 2000
	// MaxPauseReason is how long the reason for a pause may be, in characters.
	MaxPauseReason = 2000

	// maxSecretBytes bounds the values of one job's secrets together: each text
	// that its agent writes is searched for all of them.
	maxSecretBytes = 16 << 10
)

// addresses are words that stand where a key stands in an address.
var addresses = []string{"new", "search", "batch"}

var keyForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// check gathers what is wrong with a new job; at is the prefix of its fields.
func (n New) check(p fault.Problems, at string) {
	spec := n.WithDefaults()
	for _, f := range Fields {
		f.check(f, p, at+f.Name, f.In(&spec))
	}
	if _, isID := ids.Parse(n.Key); n.Key != "" && (isID || !keyForm.MatchString(n.Key)) {
		p.Add(at+"key", "Letters, digits and . _ - make a key of at most 64 characters.")
	}
	if slices.Contains(addresses, strings.ToLower(n.Key)) {
		p.Add(at+"key", "This word is part of an address; a job's key must be another one.")
	}
	p.Name(at+"kind", n.Kind, MaxName)
	p.Name(at+"product", n.Product, MaxName)
	p.Text(at+"blocked_reason", n.BlockedReason, MaxReason)
	p.Line(at+"idempotency_key", n.IdempotencyKey, MaxIdempotencyKey)
	optional(p, at+"max_lost", n.MaxLost, 0, MaxTries)
	optional(p, at+"retry_backoff_seconds", n.RetryBackoffSeconds, 0, MaxBackoffSeconds)
	object(p, at+"input_context", n.InputContext)
	n.checkSecrets(p, at+"secret_keys")
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
