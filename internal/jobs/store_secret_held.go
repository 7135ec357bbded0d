package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/db/vault"
	"fleetboard/internal/ids"
	"fleetboard/internal/redact"
)

// HeldSecrets are the secrets of the jobs that agents hold.
type HeldSecrets map[ids.ID][]Secret

// Holders are agents, and all agents that hold jobs for these factories.
type Holders struct{ Agents, Factories []ids.ID }

// HeldSecretsTx reads the secrets of the jobs that agents hold. Values that cannot be
// read, because they were damaged or this process has another key, are not among
// them: what agents say of themselves goes on without.
func (s *Service) HeldSecretsTx(ctx context.Context, tx db.Tx, workspace ids.ID, of Holders) (HeldSecrets, error) {
	rows, err := q.JobSecretHeld(ctx, tx, dbsqlc.JobSecretHeldParams{WorkspaceID: workspace, Agents: of.Agents, Factories: of.Factories})
	if err != nil {
		return nil, fmt.Errorf("read secrets of agents: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	needed := make([]int32, 0, len(rows))
	for _, r := range rows {
		needed = append(needed, r.KeyID)
	}
	keys, err := s.secrets.KeysTx(ctx, tx, workspace, needed...)
	if err != nil {
		return nil, fmt.Errorf("read keys of secrets: %w", err)
	}
	held := HeldSecrets{}
	for _, r := range rows {
		plain, err := keys.Open(secretPlace(workspace, r.JobID, r.Name), vault.Sealed{Key: r.KeyID, Bytes: r.Sealed})
		switch {
		case err == nil:
			held[r.AgentID] = append(held[r.AgentID], NewSecret(plain))
		case !errors.Is(err, vault.ErrLocked) && !errors.Is(err, vault.ErrRefused):
			return nil, fmt.Errorf("open secrets of agents: %w", err)
		}
	}
	return held, nil
}

// Hide takes the values of the jobs that an agent holds out of texts, in place.
func (h HeldSecrets) Hide(agent ids.ID, texts ...*string) { redact.Short(distinct(h[agent]), texts...) }

// HideAll takes the values of all of the jobs out of texts, in place.
func (h HeldSecrets) HideAll(texts ...*string) {
	var all []Secret
	for _, values := range h {
		all = append(all, values...)
	}
	redact.Short(distinct(all), texts...)
}

// distinct leaves out values that are there already: many jobs have the same ones.
func distinct(values []Secret) []json.RawMessage {
	seen := map[string]bool{}
	var left []json.RawMessage
	for _, v := range values {
		if raw := v.Reveal(); !seen[string(raw)] {
			seen[string(raw)] = true
			left = append(left, raw)
		}
	}
	return left
}

// Digests are of a text that may hold a secret, under the server's secret key: what is
// kept by the first of them is found again by one of them.
func (s *Service) Digests(text string) [][]byte { return s.secrets.Digests([]byte(text)) }
