package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/redact"
)

// Publisher wakes whoever waits for a topic, in every process. Publish never
// blocks and is called after commit.
type Publisher interface{ Publish(topics ...string) }

// Service is what is done with the secrets of jobs.
type Service struct {
	db    *db.DB
	wake  Publisher
	vault *vault.Vault
}

// NewService returns the secrets kept in d, sealed by the vault.
func NewService(d *db.DB, wake Publisher, v *vault.Vault) *Service {
	return &Service{db: d, wake: wake, vault: v}
}

// InsertTx seals the values of new jobs and writes them at once.
func (s *Service) InsertTx(ctx context.Context, tx db.Tx, workspace ids.ID, of map[ids.ID]Set) error {
	var list []sealed
	var key vault.Key
	for job, set := range of {
		for name, secret := range set {
			if len(list) == 0 {
				var err error
				if key, err = s.vault.WriterTx(ctx, tx, workspace); err != nil {
					return unavailable(err)
				}
			}
			value := key.Seal(place(workspace, job, name), secret.Reveal())
			list = append(list, sealed{job: job, name: name, bytes: value.Bytes})
		}
	}
	if len(list) == 0 {
		return nil
	}
	return insertTx(ctx, tx, workspace, key.ID, list)
}

// OpenTx reads the secrets of jobs. One that does not open is the zero Secret.
// Unavailable where this process was not given the server's key for them.
func (s *Service) OpenTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) (map[ids.ID]Set, error) {
	rows, err := ofJobsTx(ctx, tx, workspace, jobs)
	if err != nil {
		return nil, err
	}
	keys, err := s.vault.KeysTx(ctx, tx, workspace, listKeys(rows)...)
	if err != nil {
		return nil, fmt.Errorf("read keys of secrets: %w", err)
	}
	opened := map[ids.ID]Set{}
	for _, r := range rows {
		plain, err := keys.Open(place(workspace, r.job, r.name), vault.Sealed{Key: r.key, Bytes: r.bytes})
		if errors.Is(err, vault.ErrLocked) {
			return nil, unavailable(err)
		}
		if opened[r.job] == nil {
			opened[r.job] = Set{}
		}
		opened[r.job][r.name] = Secret{}
		if err == nil {
			opened[r.job][r.name] = New(plain)
		}
	}
	return opened, nil
}

// RedactorTx takes the values of a job's secrets out of what its agent writes.
// It fails where one of them cannot be read: then none of it can be passed on.
func (s *Service) RedactorTx(ctx context.Context, tx db.Tx, workspace ids.ID, job ids.ID) (*redact.Redactor, error) {
	opened, err := s.OpenTx(ctx, tx, workspace, []ids.ID{job})
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

// Digests are of a text that may hold a secret, under the server's secret key: what is
// kept by the first of them is found again by one of them.
func (s *Service) Digests(text []byte) [][]byte { return s.vault.Digests(text) }

// unavailable says in words what vault.ErrLocked means; other errors stay.
func unavailable(err error) error {
	if !errors.Is(err, vault.ErrLocked) {
		return err
	}
	return fault.Wrap(err, fault.Unavailable,
		"The workspace's secrets cannot be used: this server runs with another secret key than the one that they are kept with.")
}

// place binds a value to its row.
func place(workspace, job ids.ID, name string) vault.Place {
	return vault.Place{Table: "job_secret", Column: "sealed", Workspace: workspace, Row: job, Name: name}
}
