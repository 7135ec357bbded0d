package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/redact"
)

// Held are the secrets of the jobs that agents hold.
type Held map[ids.ID][]Secret

// Holders are agents, and all agents that hold jobs for these factories.
type Holders struct{ Agents, Factories []ids.ID }

// HeldTx reads the secrets of the jobs that agents hold. Values that cannot be
// read, because they were damaged or this process has another key, are not among
// them: what agents say of themselves goes on without.
func (s *Service) HeldTx(ctx context.Context, tx db.Tx, workspace ids.ID, of Holders) (Held, error) {
	list, agents, err := heldTx(ctx, tx, workspace, of)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	keys, err := s.vault.KeysTx(ctx, tx, workspace, listKeys(list)...)
	if err != nil {
		return nil, fmt.Errorf("read keys of secrets: %w", err)
	}
	held := Held{}
	for i, v := range list {
		plain, err := keys.Open(place(workspace, v.job, v.name), vault.Sealed{Key: v.key, Bytes: v.bytes})
		switch {
		case err == nil:
			held[agents[i]] = append(held[agents[i]], New(plain))
		case !errors.Is(err, vault.ErrLocked) && !errors.Is(err, vault.ErrRefused):
			return nil, fmt.Errorf("open secrets of agents: %w", err)
		}
	}
	return held, nil
}

// Hide takes the values of the jobs that an agent holds out of texts, in place.
func (h Held) Hide(agent ids.ID, texts ...*string) { redact.Short(distinct(h[agent]), texts...) }

// Redactor takes the values of the jobs that an agent holds out of what it writes; nil
// where there are none.
func (h Held) Redactor(agent ids.ID) *redact.Redactor {
	if len(h[agent]) == 0 {
		return nil
	}
	return redact.New(distinct(h[agent])...)
}

// HideAll takes the values of all of the jobs out of texts, in place.
func (h Held) HideAll(texts ...*string) {
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
