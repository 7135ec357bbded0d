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
