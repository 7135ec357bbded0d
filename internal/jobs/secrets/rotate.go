package secrets

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// resealBatch is how many values one transaction encrypts anew.
	resealBatch = 200
	// resealShare is how many values of one key one call encrypts anew before the
	// next key has its turn.
	resealShare = 5 * resealBatch
	// manySecrets is where counting the values of a key ends.
	manySecrets = 10_000
	// maxGenerations bounds the list of keys.
	maxGenerations = 100
	// rotator is who a finished rotation is put down to.
	rotator = "key rotation"
)

// Key is one generation of the keys that a workspace's secrets are
// encrypted with.
type Key struct {
	Generation int
	MadeAt     time.Time
	RetiredAt  *time.Time // nil while it lives
	Writes     bool       // it encrypts what is new
	Values     int        // how many it has encrypted, up to 10,000
	More       bool       // there are more
	Moved      int        // how many of its values a later key has taken over
	Locked     bool       // this server was not given the secret key that opens it
	Fresh      bool       // it was made within the hour
}

// Keys reads the generations of a workspace's keys, the newest first, at
// most 100; none before the first secret. Forbidden unless who may manage.
func (s *Service) Keys(ctx context.Context, who tenancy.Principal) ([]Key, error) {
	if !who.Can(tenancy.Manage) {
		return nil, fault.New(fault.Forbidden, "Only owners and admins see the encryption keys.")
	}
	var list []Key
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = generationsTx(ctx, tx, who.Workspace, s.vault.Knows)
		return err
	})
	return list, err
}

// RenewKey makes a new key, which encrypts from now on; RotateSecrets moves
// the values of the earlier ones to it. Pressed twice at once it makes one.
// Forbidden unless who owns the workspace; InvalidTransition while a rotation goes
// on that began within the hour.
func (s *Service) RenewKey(ctx context.Context, who tenancy.Principal) error {
	if !who.Can(tenancy.Own) {
		return fault.New(fault.Forbidden, "Only owners make a new encryption key.")
	}
	list, err := s.Keys(ctx, who)
	if err != nil {
		return err
	}
	values := 0
	for _, k := range list {
		if values += k.Values; !k.Writes && k.RetiredAt == nil && list[0].Fresh {
			return fault.New(fault.InvalidTransition, "A rotation is under way. Make a new key when it is done.")
		}
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		key, made, err := s.vault.RenewTx(ctx, tx, who.Workspace)
		if err != nil || !made {
			return err
		}
		return eventlog.AppendTx(ctx, tx, who.Workspace, eventlog.Event{Type: eventlog.KeyRotationBegun, Actor: who.Actor(),
			Payload: rotationPayload(key, int64(values))})
	})
	if err == nil {
		s.wake.Publish(eventlog.Topic(who.Workspace))
	}
	return err
}

// RotateSecrets encrypts values with the newest keys of their workspaces, a
// bounded part of them in each call, and returns how many. A key without values
// is retired. Secrets can be read all the time. It is safe in several processes.
// Keys that an earlier key of the server wraps are wrapped anew on the way: a
// process with that one may have made them after this one started.
func (s *Service) RotateSecrets(ctx context.Context) (int, error) {
	if _, err := s.vault.Rewrap(ctx); err != nil {
		return 0, err
	}
	var workspaces []ids.ID
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		workspaces, err = q.VaultRotating(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	total := 0
	for _, workspace := range workspaces {
		n, err := s.rotate(ctx, workspace)
		if total += n; err != nil {
			return total, fmt.Errorf("rotate secrets: %w", err)
		}
	}
	return total, nil
}

// rotate does one workspace's share, the oldest key first.
func (s *Service) rotate(ctx context.Context, workspace ids.ID) (int, error) {
	var old []int
	err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
		old, err = q.VaultKeysOld(ctx, tx, workspace)
		return err
	})
	total := 0
	for _, key := range old {
		r := rotation{s: s, workspace: workspace, key: key}
		for err == nil && !r.over && r.done < resealShare {
			err = r.batch(ctx)
		}
		if err == nil && r.over {
			err = s.retire(ctx, workspace, key)
		}
		if total += r.done; err != nil {
			return total, err
		}
	}
	return total, err
}

// rotationPayload returns what the log records of a rotation: the key that begins or is over,
// and the values that it is about.
func rotationPayload(key int, values int64) json.RawMessage {
	return fmt.Appendf(nil, `{"key":%d,"values":%d}`, key, values)
}

// rotation moves the values of one key to the newest one.
type rotation struct {
	s         *Service
	workspace ids.ID
	key       int

	after sealed // the last value that was looked at
	done  int
	over  bool // nothing is left that can be moved
}

// batch moves the next values. Those that do not open stay where they are.
func (r *rotation) batch(ctx context.Context) error {
	return r.s.db.In(ctx, db.Workspace(r.workspace), func(tx db.Tx) error {
		page, err := pageTx(ctx, tx, r.workspace, r.key, r.after)
		if err != nil || len(page) == 0 {
			r.over = err == nil
			return err
		}
		newest, err := r.s.vault.WriterTx(ctx, tx, r.workspace)
		if err != nil {
			return unavailable(err)
		}
		keys, err := r.s.vault.KeysTx(ctx, tx, r.workspace, r.key)
		if err != nil {
			return err
		}
		if len(keys[r.key]) == 0 {
			r.over = true // none of its values opens here
			return nil
		}
		moved, err := r.reseal(ctx, tx, page, keys, newest)
		if err != nil {
			return err
		}
		r.after, r.over, r.done = page[len(page)-1], len(page) < resealBatch, r.done+moved
		return nil
	})
}

// reseal writes values anew that are still as they were read.
func (r *rotation) reseal(ctx context.Context, tx db.Tx, page []sealed, keys vault.Keys, newest vault.Key) (int, error) {
	var old, fresh []sealed
	for _, v := range page {
		at := place(r.workspace, v.job, v.name)
		plain, err := keys.Open(at, vault.Sealed{Key: r.key, Bytes: v.bytes})
		if err != nil {
			continue // it was damaged; a claim of its job says so
		}
		old = append(old, v)
		fresh = append(fresh, sealed{job: v.job, name: v.name, key: newest.ID, bytes: newest.Seal(at, plain).Bytes})
	}
	if len(old) == 0 {
		return 0, nil
	}
	return moveTx(ctx, tx, r.workspace, old, fresh)
}

// retire ends a key that has no value left. Who writes with it at this moment
// keeps it alive: its value is seen here, or it waits and takes the newest key.
func (s *Service) retire(ctx context.Context, workspace ids.ID, key int) error {
	retired := false
	err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		moved, ended, err := retireTx(ctx, tx, workspace, key)
		if err != nil || !ended {
			return err
		}
		retired = true
		return eventlog.AppendTx(ctx, tx, workspace, eventlog.Event{Type: eventlog.KeyRotationDone,
			Actor: tenancy.System(workspace, rotator).Actor(), Payload: rotationPayload(key, moved)})
	})
	if err == nil && retired {
		s.wake.Publish(eventlog.Topic(workspace))
	}
	return err
}
