package vault_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

func serverKey(b byte) []byte { return bytes.Repeat([]byte{b}, vault.KeySize) }

// keep seals a text with a workspace's newest key.
func keep(t *testing.T, d *db.DB, v *vault.Vault, workspace ids.ID, text string) (vault.Place, vault.Sealed, error) {
	t.Helper()
	place := vault.Place{Table: "t", Column: "c", Workspace: workspace, Row: ids.New()}
	var sealed vault.Sealed
	err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
		key, err := v.WriterTx(t.Context(), tx, workspace)
		if err == nil {
			sealed = key.Seal(place, []byte(text))
		}
		return err
	})
	return place, sealed, err
}

func open(t *testing.T, d *db.DB, v *vault.Vault, place vault.Place, sealed vault.Sealed) (string, error) {
	t.Helper()
	var plain []byte
	err := d.In(t.Context(), db.Workspace(place.Workspace), func(tx db.Tx) error {
		keys, err := v.KeysTx(t.Context(), tx, place.Workspace, sealed.Key, sealed.Key)
		if err == nil {
			plain, err = keys.Open(place, sealed)
		}
		return err
	})
	return string(plain), err
}

// Many that need a workspace's first key at once get one and the same, and each
// workspace has another.
func TestTheFirstKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace, other := dbfactory.Workspace(t, d), dbfactory.Workspace(t, d)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			v := vault.New(d, serverKey(1)) // a process of its own
			place, sealed, err := keep(t, d, v, workspace, "text")
			if err != nil || sealed.Key != 1 {
				t.Errorf("key %d, %v", sealed.Key, err)
				return
			}
			if text, err := open(t, d, vault.New(d, serverKey(1)), place, sealed); err != nil || text != "text" {
				t.Errorf("opened %q, %v", text, err)
			}
		})
	}
	wg.Wait()
	if n := dbfactory.Int(t, d, `SELECT count(*) FROM workspace_key`); n != 1 {
		t.Errorf("%d keys; want one", n)
	}
	v := vault.New(d, serverKey(1))
	place, sealed, err := keep(t, d, v, workspace, "text")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = keep(t, d, v, other, "text"); err != nil {
		t.Fatal(err)
	}
	place.Workspace = other
	if text, err := open(t, d, v, place, sealed); !errors.Is(err, vault.ErrRefused) {
		t.Errorf("in another workspace it opened as %q, %v", text, err)
	}
	if dbfactory.Int(t, d, `SELECT count(DISTINCT wrapped) FROM workspace_key`) != 2 {
		t.Error("two workspaces have one key")
	}
}

// A wrapped key that was put under another id or workspace is of no use.
func TestAWrappedKeyIsBoundToItsRow(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	workspace, other := dbfactory.Workspace(t, d), dbfactory.Workspace(t, d)
	for _, w := range []ids.ID{workspace, other} {
		if _, _, err := keep(t, d, vault.New(d, serverKey(1)), w, "text"); err != nil {
			t.Fatal(err)
		}
	}
	dbfactory.Exec(t, d, `UPDATE workspace_key SET wrapped = (SELECT wrapped FROM workspace_key WHERE workspace_id = $1) WHERE workspace_id = $2`, workspace, other)
	if _, _, err := keep(t, d, vault.New(d, serverKey(1)), other, "text"); !errors.Is(err, vault.ErrRefused) {
		t.Errorf("another workspace's key: %v", err)
	}
	dbfactory.Exec(t, d, `UPDATE workspace_key SET id = 2 WHERE workspace_id = $1`, workspace)
	if _, _, err := keep(t, d, vault.New(d, serverKey(1)), workspace, "text"); !errors.Is(err, vault.ErrRefused) {
		t.Errorf("a key under another id: %v", err)
	}
}

// The server's key is changed: the data keys are wrapped anew by two processes at
// once, and what they seal opens with the new key alone afterwards.
func TestTheServersKeyChanges(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	type kept struct {
		place  vault.Place
		sealed vault.Sealed
	}
	var all []kept
	before := vault.New(d, serverKey(1))
	for range 5 {
		place, sealed, err := keep(t, d, before, dbfactory.Workspace(t, d), "text")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, kept{place, sealed})
	}
	after := vault.New(d, serverKey(2))
	if _, err := open(t, d, after, all[0].place, all[0].sealed); !errors.Is(err, vault.ErrLocked) {
		t.Errorf("the new key alone, before: %v", err)
	}
	if _, _, err := keep(t, d, after, all[0].place.Workspace, "text"); !errors.Is(err, vault.ErrLocked) {
		t.Errorf("writing with the new key alone, before: %v", err)
	}
	if done, err := after.Rewrap(t.Context()); err != nil || done != (vault.Rewrapped{Locked: 5}) {
		t.Errorf("without the earlier key: %+v, %v", done, err)
	}
	var wg sync.WaitGroup
	total := make(chan int, 2)
	for range 2 {
		wg.Go(func() {
			done, err := vault.New(d, serverKey(2), serverKey(1)).Rewrap(context.Background())
			if err != nil || done.Locked != 0 {
				t.Errorf("rewrap: %+v, %v", done, err)
			}
			total <- done.Done
		})
	}
	wg.Wait()
	if sum := <-total + <-total; sum != 5 {
		t.Errorf("%d keys were wrapped anew; want 5, each once", sum)
	}
	after = vault.New(d, serverKey(2))
	for _, k := range all {
		if text, err := open(t, d, after, k.place, k.sealed); err != nil || text != "text" {
			t.Errorf("with the new key: %q, %v", text, err)
		}
	}
	if done, err := after.Rewrap(t.Context()); err != nil || done != (vault.Rewrapped{}) {
		t.Errorf("once more: %+v, %v", done, err)
	}
	if _, err := open(t, d, vault.New(d, serverKey(1)), all[0].place, all[0].sealed); !errors.Is(err, vault.ErrLocked) {
		t.Errorf("the earlier key still opens: %v", err)
	}
}
