package idempotency

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Key is what the sender of a request calls it. A nil one is a request that has no name
// and is always new.
type Key struct {
	Name string
	// Digests are of what is requested: it is kept by the first of them and known again by
	// each of them.
	Digests  [][]byte
	replayed bool
}

// storedName returns the digest that is stored in place of the name, which may hold secrets.
func (k *Key) storedName() string {
	sum := sha256.Sum256([]byte(k.Name))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Replayed reports whether the same request was carried out before.
func (k *Key) Replayed() bool { return k != nil && k.replayed }

// Part returns the key of one of the things that a request does each by itself.
func (k *Key) Part(name string) *Key {
	if k == nil {
		return nil
	}
	sum := sha256.Sum256([]byte(k.Name + "\n" + name))
	return &Key{Name: "part:" + hex.EncodeToString(sum[:]), Digests: k.Digests}
}

// Once is OnceTx in a transaction of its own.
func Once[T any](ctx context.Context, d *db.DB, who tenancy.Principal, k *Key, effect func(db.Tx) (T, error)) (result T, err error) {
	err = d.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		result, err = OnceTx(ctx, tx, who, k, func() (T, error) { return effect(tx) })
		return err
	})
	return result, err
}

// OnceTx has the effect of a request and keeps its result, or gives the result of the same
// request before. Results have to survive JSON. A second request waits for the first one's
// transaction. IdempotencyKeyReused for another request with the key; those of effect.
func OnceTx[T any](ctx context.Context, tx db.Tx, who tenancy.Principal, k *Key, effect func() (T, error)) (T, error) {
	if k == nil {
		return effect()
	}
	var none T
	first, err := TakeTx(ctx, tx, who, k, none)
	if err != nil || k.replayed {
		return first, err
	}
	result, err := effect()
	if err != nil {
		return none, err
	}
	answer, err := json.Marshal(result)
	if err != nil {
		return none, fmt.Errorf("encode result: %w", err)
	}
	return result, q.IdempotentRequestAnswer(ctx, tx, answer, who.Workspace, who.Asker(), k.storedName())
}

// TakeTx is OnceTx for a request whose result is known before its effect: it keeps the
// result, or gives that of the same request before, as k.Replayed() says. A nil key takes
// nothing.
func TakeTx[T any](ctx context.Context, tx db.Tx, who tenancy.Principal, k *Key, result T) (T, error) {
	if k == nil {
		return result, nil
	}
	answer, err := json.Marshal(result)
	if err != nil {
		return result, fmt.Errorf("encode result: %w", err)
	}
	taken, err := takeTx(ctx, tx, who, k, answer)
	if k.replayed = err == nil && !taken; !k.replayed {
		return result, err
	}
	return firstTx[T](ctx, tx, who, k)
}

// firstTx reads what the request led to when it was carried out.
func firstTx[T any](ctx context.Context, tx db.Tx, who tenancy.Principal, k *Key) (first T, err error) {
	digest, answer, err := answeredTx(ctx, tx, who, k)
	if err != nil {
		return first, err
	}
	if !slices.ContainsFunc(k.Digests, func(d []byte) bool { return bytes.Equal(digest, d) }) {
		return first, fault.New(fault.IdempotencyKeyReused,
			"This idempotency key came with another request within the last day. Use a new one.")
	}
	if err := json.Unmarshal(answer, &first); err != nil {
		return first, fmt.Errorf("decode result of idempotency key: %w", err)
	}
	return first, nil
}
