package webhooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// The names of a webhook's secrets: what was sealed as one opens as no other.
const (
	presentSecret = "sealed"
	earlierSecret = "old_sealed"
)

// secretPlace binds a secret to its row and column.
func secretPlace(workspace, webhook ids.ID, column string) vault.Place {
	return vault.Place{Table: "webhook", Column: column, Workspace: workspace, Row: webhook}
}

func (s *Service) insertTx(ctx context.Context, tx db.Tx, who tenancy.Principal, w Webhook, secret Secret, from eventlog.Cursor) error {
	key, err := s.vault.WriterTx(ctx, tx, who.Workspace)
	if err != nil {
		return unavailable(err)
	}
	sealed := key.Seal(secretPlace(who.Workspace, w.ID, presentSecret), secret.bytes())
	return q.WebhookInsert(ctx, tx, dbsqlc.WebhookInsertParams{WorkspaceID: who.Workspace, ID: w.ID, Url: w.URL, Types: w.Types,
		Products: w.Products, KeyID: sealed.Key, Sealed: sealed.Bytes, CreatedBy: who.Name, Place: from.String()})
}

// replaceSecretTx gives a webhook another secret.
func (s *Service) replaceSecretTx(ctx context.Context, tx db.Tx, workspace, webhook ids.ID, secret Secret, overlapHours int) error {
	was, err := s.secretTx(ctx, tx, workspace, webhook)
	if err != nil {
		return err
	}
	key, err := s.vault.WriterTx(ctx, tx, workspace)
	if err != nil {
		return unavailable(err)
	}
	old := key.Seal(secretPlace(workspace, webhook, earlierSecret), was.bytes())
	sealed := key.Seal(secretPlace(workspace, webhook, presentSecret), secret.bytes())
	return q.WebhookRotate(ctx, tx, dbsqlc.WebhookRotateParams{WorkspaceID: workspace, ID: webhook, OldKeyID: &old.Key,
		OldSealed: old.Bytes, OverlapHours: overlapHours, KeyID: sealed.Key, Sealed: sealed.Bytes})
}

// secretTx reads the secret of a webhook. Faults: NotFound; Unavailable.
func (s *Service) secretTx(ctx context.Context, tx db.Tx, workspace, webhook ids.ID) (Secret, error) {
	from, err := s.senderTx(ctx, tx, workspace, webhook)
	if err != nil {
		return Secret{}, err
	}
	if from == nil {
		return Secret{}, noWebhook(webhook)
	}
	return from.secrets[0], nil
}

// sender is what a webhook is sent with, and how far it is.
type sender struct {
	url             string
	types, products []string
	state           State
	secrets         []Secret // the present one first
	place           eventlog.Cursor
	seq             int64
	pending         int
}

// senderTx reads what a webhook is sent with; nil where there is none.
func (s *Service) senderTx(ctx context.Context, tx db.Tx, workspace, webhook ids.ID) (*sender, error) {
	rows, err := q.WebhookSender(ctx, tx, maxPending, workspace, webhook)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	r := rows[0]
	from := &sender{url: r.Url, types: r.Types, products: r.Products, state: State(r.State), seq: r.Seq, pending: r.Pending}
	if from.place, err = eventlog.ParseCursor(r.Place); err != nil {
		return nil, fmt.Errorf("place of a webhook: %w", err)
	}
	list := []vault.Sealed{{Key: r.KeyID, Bytes: r.Sealed}}
	if r.Rotating && r.OldKeyID != nil {
		list = append(list, vault.Sealed{Key: *r.OldKeyID, Bytes: r.OldSealed})
	}
	for i, column := range []string{presentSecret, earlierSecret}[:len(list)] {
		keys, err := s.vault.KeysTx(ctx, tx, workspace, list[i].Key)
		if err != nil {
			return nil, fmt.Errorf("keys of a webhook's secret: %w", err)
		}
		plain, err := keys.Open(secretPlace(workspace, webhook, column), list[i])
		if err != nil {
			return nil, unavailable(err)
		}
		from.secrets = append(from.secrets, wrapSecret(plain))
	}
	return from, nil
}

// RotateWebhookKeys seals the secrets anew that an earlier key of their workspace has sealed, and returns how
// many webhooks had one. Secrets that do not sign any more are forgotten. It is safe in several processes.
func (s *Service) RotateWebhookKeys(ctx context.Context) (total int, err error) {
	var workspaces []ids.ID
	err = s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		workspaces, err = q.VaultRotating(ctx, tx)
		return err
	})
	for _, workspace := range workspaces {
		if err != nil {
			break
		}
		err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			n, err := s.resealTx(ctx, tx, workspace)
			total += n
			return err
		})
	}
	if err != nil {
		return total, fmt.Errorf("rotate keys of webhooks: %w", err)
	}
	return total, nil
}

func (s *Service) resealTx(ctx context.Context, tx db.Tx, workspace ids.ID) (n int, err error) {
	old, err := q.VaultKeysOld(ctx, tx, workspace)
	if err != nil {
		return 0, err
	}
	for _, key := range old {
		rows, err := q.WebhookSecretsOf(ctx, tx, workspace, key)
		if err != nil {
			return n, err
		}
		for _, r := range rows {
			moved, err := s.resealOneTx(ctx, tx, workspace, r)
			if err != nil {
				return n, err
			}
			n += moved
		}
	}
	return n, nil
}

// resealOneTx moves the secrets of a webhook to the newest key. Those that do not open stay as they are.
func (s *Service) resealOneTx(ctx context.Context, tx db.Tx, workspace ids.ID, r dbsqlc.WebhookSecretsOfRow) (int, error) {
	if r.OldKeyID != nil {
		if err := q.WebhookForgetOld(ctx, tx, workspace, r.ID); err != nil {
			return 0, err
		}
	}
	newest, err := s.vault.WriterTx(ctx, tx, workspace)
	if err != nil {
		return 0, unavailable(err)
	}
	again := func(column string, was vault.Sealed) (vault.Sealed, error) {
		keys, err := s.vault.KeysTx(ctx, tx, workspace, was.Key)
		if err != nil {
			return was, err
		}
		plain, err := keys.Open(secretPlace(workspace, r.ID, column), was)
		if errors.Is(err, vault.ErrLocked) || errors.Is(err, vault.ErrRefused) {
			return was, nil
		}
		return newest.Seal(secretPlace(workspace, r.ID, column), plain), err
	}
	now, err := again(presentSecret, vault.Sealed{Key: r.KeyID, Bytes: r.Sealed})
	if err != nil {
		return 0, err
	}
	p := dbsqlc.WebhookResealParams{WorkspaceID: workspace, ID: r.ID, KeyID: now.Key, Sealed: now.Bytes, Was: r.Sealed, OldWas: r.OldSealed}
	if r.OldKeyID != nil {
		old, err := again(earlierSecret, vault.Sealed{Key: *r.OldKeyID, Bytes: r.OldSealed})
		if err != nil {
			return 0, err
		}
		p.OldKeyID, p.OldSealed = &old.Key, old.Bytes
	}
	if bytes.Equal(p.Sealed, p.Was) && bytes.Equal(p.OldSealed, p.OldWas) {
		return 0, nil // neither opens
	}
	n, err := q.WebhookReseal(ctx, tx, p)
	return int(n), err
}

// unavailable says in words what vault.ErrLocked means; other errors stay.
func unavailable(err error) error {
	if errors.Is(err, vault.ErrLocked) {
		return fault.Wrap(err, fault.Unavailable,
			"The secrets of webhooks cannot be used: this server runs with another secret key than the one that they are kept with.")
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.Wrap(err, fault.NotFound, "There is no such webhook in this workspace.")
	}
	return err
}
