package secrets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/fleetboard/fleetboard/internal/redact"
)

// Secret is the value of a secret input. However it is printed, logged or
// encoded, it reads "[secret]"; only Reveal returns it.
type Secret struct {
	// A function, so that not even reflection shows the value.
	reveal func() json.RawMessage
}

// New keeps a JSON value.
func New(raw json.RawMessage) Secret {
	return Secret{reveal: func() json.RawMessage { return raw }}
}

// Reveal returns the value, nil of the zero Secret.
func (s Secret) Reveal() json.RawMessage {
	if s.reveal == nil {
		return nil
	}
	return s.reveal()
}

func (Secret) String() string { return redact.Placeholder }

// Format writes the placeholder, whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redact.Placeholder) }

// LogValue returns the placeholder.
func (Secret) LogValue() slog.Value { return slog.StringValue(redact.Placeholder) }

// MarshalJSON returns the placeholder.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(redact.PlaceholderJSON), nil }

// Set is the values of a job's secret inputs by their keys.
type Set map[string]Secret

// Hide takes the values of secrets out of an input context: what may be kept as
// it is, and the secrets. The keys were checked before.
func Hide(input json.RawMessage, keys []string) (json.RawMessage, Set, error) {
	if len(keys) == 0 {
		return input, nil, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(input, &all); err != nil {
		return nil, nil, errors.New("the input context is no object") // its own words could reveal a value
	}
	secrets := Set{}
	for _, key := range keys {
		secrets[key] = New(all[key])
	}
	for key := range secrets {
		all[key] = json.RawMessage(redact.PlaceholderJSON)
	}
	open, err := json.Marshal(all)
	if err != nil {
		return nil, nil, errors.New("the input context cannot be written")
	}
	return open, secrets, nil
}

// Complete reports whether every key has its value.
func (s Set) Complete(keys []string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return s[key].reveal == nil })
}

// Reveal returns an input context with the values in the places that Hide took them from.
func (s Set) Reveal(input json.RawMessage) (json.RawMessage, error) {
	if len(s) == 0 {
		return input, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(input, &all); err != nil {
		return nil, fmt.Errorf("decode an input context: %w", err)
	}
	for key, secret := range s {
		all[key] = secret.Reveal()
	}
	open, err := json.Marshal(all)
	if err != nil {
		return nil, errors.New("the input context with its secrets cannot be written")
	}
	return open, nil
}
