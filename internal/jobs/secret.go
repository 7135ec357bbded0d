package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/db/vault"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/redact"
)

// Secret is the value of a secret input. However it is printed, logged or
// encoded, it reads "[secret]"; only Reveal tells it.
type Secret struct {
	// A function, so that not even reflection shows the value.
	reveal func() json.RawMessage
}

// NewSecret keeps a JSON value.
func NewSecret(raw json.RawMessage) Secret {
	return Secret{reveal: func() json.RawMessage { return raw }}
}

// Reveal is the value, nil of the zero Secret.
func (s Secret) Reveal() json.RawMessage {
	if s.reveal == nil {
		return nil
	}
	return s.reveal()
}

func (Secret) String() string { return redact.Placeholder }

// Format writes the placeholder, whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redact.Placeholder) }

// LogValue is the placeholder.
func (Secret) LogValue() slog.Value { return slog.StringValue(redact.Placeholder) }

// MarshalJSON is the placeholder.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(redact.PlaceholderJSON), nil }

// Secrets are the values of a job's secret inputs by their keys.
type Secrets map[string]Secret

// hide takes the values of secrets out of an input context: what may be kept as
// it is, and the secrets. The keys were checked before.
func hide(input json.RawMessage, keys []string) (json.RawMessage, Secrets, error) {
	if len(keys) == 0 {
		return input, nil, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(input, &all); err != nil {
		return nil, nil, errors.New("the input context is no object") // its own words could tell a value
	}
	secrets := Secrets{}
	for _, key := range keys {
		secrets[key] = NewSecret(all[key])
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

// RevealedInput is the input context as the holder of the lease reads it: with
// the values of Secrets. It is for the claim's answer and nothing else.
func (j Job) RevealedInput() (json.RawMessage, error) {
	if len(j.Secrets) == 0 {
		return j.InputContext, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(j.InputContext, &all); err != nil {
		return nil, fmt.Errorf("input context of %s: %w", j.Key, err)
	}
	for key, secret := range j.Secrets {
		all[key] = secret.Reveal()
	}
	open, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("input context of %s cannot be written", j.Key)
	}
	return open, nil
}

// RevealTx adds to jobs the values of their secrets, for the holder of their
// leases. Jobs without secrets cost nothing. Where a value is not there or does
// not open in its place, the job is left out, and returned as broken.
// Unavailable where this process was not given the server's key for them.
func (s *Service) RevealTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []Job) (revealed, broken []Job, err error) {
	var asked []ids.ID
	for _, j := range list {
		if len(j.SecretKeys) > 0 {
			asked = append(asked, j.ID)
		}
	}
	if len(asked) == 0 {
		return list, nil, nil
	}
	opened, err := s.openTx(ctx, tx, workspace, asked)
	if err != nil {
		return nil, nil, err
	}
	for _, j := range list {
		if j.Secrets = opened[j.ID]; j.Secrets.complete(j.SecretKeys) {
			revealed = append(revealed, j)
		} else {
			broken = append(broken, j)
		}
	}
	return revealed, broken, nil
}

// complete reports whether every key has its value.
func (s Secrets) complete(keys []string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return s[key].reveal == nil })
}

// RedactorTx takes the values of a job's secrets out of what its agent writes.
// It fails where one of them cannot be read: then nothing can be told of it.
func (s *Service) RedactorTx(ctx context.Context, tx db.Tx, workspace ids.ID, job ids.ID) (*redact.Redactor, error) {
	opened, err := s.openTx(ctx, tx, workspace, []ids.ID{job})
	if err != nil {
		return nil, err
	}
	var values []json.RawMessage
	for _, secret := range opened[job] {
		if secret.reveal == nil {
			return nil, fmt.Errorf("secrets of job %s: %w", job, vault.ErrRefused)
		}
		values = append(values, secret.Reveal())
	}
	return redact.New(values...), nil
}

// openTx reads the secrets of jobs. One that does not open is the zero Secret.
func (s *Service) openTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []ids.ID) (map[ids.ID]Secrets, error) {
	rows, err := q.JobSecretOfJobs(ctx, tx, dbsqlc.JobSecretOfJobsParams{WorkspaceID: workspace, JobIds: list})
	if err != nil {
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	needed := make([]int32, 0, len(rows))
	for _, r := range rows {
		needed = append(needed, r.KeyID)
	}
	keys, err := s.secrets.KeysTx(ctx, tx, workspace, needed...)
	if err != nil {
		return nil, err
	}
	opened := map[ids.ID]Secrets{}
	for _, r := range rows {
		plain, err := keys.Open(secretPlace(workspace, r.JobID, r.Name), vault.Sealed{Key: r.KeyID, Bytes: r.Sealed})
		if errors.Is(err, vault.ErrLocked) {
			return nil, locked(err)
		}
		if opened[r.JobID] == nil {
			opened[r.JobID] = Secrets{}
		}
		opened[r.JobID][r.Name] = Secret{}
		if err == nil {
			opened[r.JobID][r.Name] = NewSecret(plain)
		}
	}
	return opened, nil
}

// locked says in words what vault.ErrLocked means; other errors stay.
func locked(err error) error {
	if !errors.Is(err, vault.ErrLocked) {
		return err
	}
	return fault.Wrap(err, fault.Unavailable,
		"The workspace's secrets cannot be used: this server runs with another secret key than the one that they are kept with.")
}

// secretPlace binds a value to its row.
func secretPlace(workspace, job ids.ID, name string) vault.Place {
	return vault.Place{Table: "job_secret", Column: "sealed", Workspace: workspace, Row: job, Name: name}
}
