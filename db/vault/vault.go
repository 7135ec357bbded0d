package vault

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// ErrLocked is the answer where a data key is wrapped by a key of the server that
// this process was not given. The values under it are not lost.
var ErrLocked = errors.New("the data key is wrapped by another key of the server")

// maxCached bounds the unwrapped data keys in memory.
const maxCached = 4096

var q = dbsqlc.New()

// Vault seals and opens the values of workspaces. It is safe for concurrent use.
type Vault struct {
	db      *db.DB
	wrap    Ring     // wraps data keys
	digest  Ring     // distinguishes requests
	servers [][]byte // fingerprints of the server's keys, in the order of the rings

	mu     sync.Mutex
	opened map[generation][]byte
}

// generation names a data key.
type generation struct {
	workspace ids.ID
	id        int
}

// New returns the vault of the database. The first key is the server's, of
// KeySize bytes; the others are earlier ones, under which data keys may still be
// wrapped. A wrong length is a defect of the caller and panics.
func New(d *db.DB, key []byte, earlier ...[]byte) *Vault {
	v := &Vault{db: d, opened: map[generation][]byte{},
		wrap:   NewRing("fleetboard data key wrap v1", key, earlier...),
		digest: NewRing("fleetboard request digest v1", key, earlier...)}
	for _, k := range append([][]byte{key}, earlier...) {
		v.servers = append(v.servers, fingerprint(k))
	}
	return v
}

// Digests returns what may be stored of a text to know it again: without the server's
// key nobody can try out what the text was. The first one is to be stored; the
// others are what was stored before the server's key changed.
func (v *Vault) Digests(text []byte) [][]byte { return v.digest.digests(text) }

// WriterTx gives the key that seals new values of a workspace, and makes the
// first one. It cannot be retired before the transaction ends. ErrLocked where
// this process cannot use it.
func (v *Vault) WriterTx(ctx context.Context, tx db.Tx, workspace ids.ID) (Key, error) {
	for range 3 {
		rows, err := q.VaultKeyNewest(ctx, tx, workspace)
		if err != nil {
			return Key{}, err
		}
		for _, r := range rows {
			plain, err := v.unwrap(generation{workspace, r.ID}, r.Wrapped, r.ServerKey)
			return Key{ID: r.ID, plain: plain}, err
		}
		highest, err := q.VaultKeyHighest(ctx, tx, workspace)
		if err != nil {
			return Key{}, err
		}
		if highest > 0 {
			continue // the newest one has just been replaced: now the new one is seen
		}
		if _, err := v.insertTx(ctx, tx, generation{workspace, 1}); err != nil {
			return Key{}, err
		}
	}
	return Key{}, errors.New("the data keys of the workspace are changed all the time")
}

// RenewTx makes the next key of a workspace, which writes from the end of the
// transaction on, and returns its id. made is false where somebody else made it
// at the same moment.
func (v *Vault) RenewTx(ctx context.Context, tx db.Tx, workspace ids.ID) (id int, made bool, err error) {
	highest, err := q.VaultKeyHighest(ctx, tx, workspace)
	if err != nil {
		return 0, false, err
	}
	made, err = v.insertTx(ctx, tx, generation{workspace, highest + 1})
	return highest + 1, made, err
}

// insertTx makes a data key, unless somebody else has.
func (v *Vault) insertTx(ctx context.Context, tx db.Tx, g generation) (made bool, err error) {
	n, err := q.VaultKeyInsert(ctx, tx, g.workspace, g.id, v.wrap.Seal(g.place(), newKey()), v.servers[0])
	if err != nil {
		return false, err
	}
	return n == 1, nil
}

// KeysTx gives the keys of a workspace with these ids, for opening; one that does
// not exist, or that this process cannot use, refuses what is opened with it. It
// queries the database only for those that it does not remember.
func (v *Vault) KeysTx(ctx context.Context, tx db.Tx, workspace ids.ID, list ...int) (Keys, error) {
	keys := Keys{}
	var missing []int
	for _, id := range list {
		if plain := v.remembered(generation{workspace, id}); plain != nil {
			keys[id] = plain
		} else if !slices.Contains(missing, id) {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return keys, nil
	}
	rows, err := q.VaultKeysByID(ctx, tx, workspace, missing)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		plain, err := v.unwrap(generation{workspace, r.ID}, r.Wrapped, r.ServerKey)
		if !errors.Is(err, ErrRefused) {
			keys[r.ID] = plain // none where it is locked
		}
	}
	return keys, nil
}

// Knows reports whether this process has the key of the server with that
// fingerprint.
func (v *Vault) Knows(serverKey []byte) bool {
	return slices.ContainsFunc(v.servers, func(known []byte) bool { return bytes.Equal(known, serverKey) })
}

// place is where the wrapped key is stored.
func (g generation) place() Place {
	return Place{Table: "workspace_key", Column: "wrapped", Workspace: g.workspace, Name: strconv.Itoa(g.id)}
}

// unwrap opens a wrapped data key and remembers it; ErrLocked where this process
// was not given the key of the server that wraps it, ErrRefused where it was and
// the wrapped key was changed or moved.
func (v *Vault) unwrap(g generation, wrapped, serverKey []byte) ([]byte, error) {
	if plain := v.remembered(g); plain != nil {
		return plain, nil
	}
	if !v.Knows(serverKey) {
		return nil, ErrLocked
	}
	plain, _, err := v.wrap.Open(g.place(), wrapped)
	if err != nil || len(plain) != KeySize {
		return nil, ErrRefused
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for other := range v.opened {
		if len(v.opened) < maxCached {
			break
		}
		delete(v.opened, other)
	}
	v.opened[g] = plain
	return plain, nil
}

// remembered returns an unwrapped key, nil where it is not in memory. An id never gets
// another key.
func (v *Vault) remembered(g generation) []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.opened[g]
}
