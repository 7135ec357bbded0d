package blobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// sealedBy is by how many bytes a sealed piece is longer: its nonce and its tag.
const sealedBy = 12 + 16

// seal seals the pieces of one content with a key of their own. The zero value leaves
// them as they are.
type seal struct {
	workspace, id ids.ID
	key           []byte
}

// newSealTx makes a key for a content, sealed with the workspace's.
func (s *Service) newSealTx(ctx context.Context, tx db.Tx, workspace, id ids.ID) (seal, vault.Sealed, error) {
	writer, err := s.vault.WriterTx(ctx, tx, workspace)
	if err != nil {
		return seal{}, vault.Sealed{}, unavailable(err)
	}
	key := make([]byte, vault.KeySize)
	_, _ = rand.Read(key) // never fails
	return seal{workspace, id, key}, writer.Seal(keyPlace(workspace, id), key), nil
}

// openSealTx opens the key of bytes. Unavailable where this process was not given the
// server's key for it.
func (s *Service) openSealTx(ctx context.Context, tx db.Tx, workspace ids.ID, of stored) (seal, error) {
	if of.key == nil {
		return seal{}, nil
	}
	keys, err := s.vault.KeysTx(ctx, tx, workspace, *of.key)
	if err != nil {
		return seal{}, fmt.Errorf("read the key of a blob: %w", err)
	}
	key, err := keys.Open(keyPlace(workspace, of.id), vault.Sealed{Key: *of.key, Bytes: of.sealedKey})
	if err != nil {
		return seal{}, unavailable(err)
	}
	return seal{workspace, of.id, key}, nil
}

// unavailable says in words what vault.ErrLocked means; other errors stay.
func unavailable(err error) error {
	if !errors.Is(err, vault.ErrLocked) {
		return err
	}
	return fault.Wrap(err, fault.Unavailable,
		"The workspace's secrets cannot be used: this server runs with another secret key than the one that they are kept with.")
}

// length returns how many bytes of a stored piece are not the content's.
func (s seal) length() int {
	if s.key == nil {
		return 0
	}
	return sealedBy
}

// piece returns what is stored of a piece.
func (s seal) piece(n int, plain []byte) []byte {
	if s.key == nil {
		return plain
	}
	return vault.Seal(s.key, s.place(n), plain)
}

// open returns the piece of what is stored of it; vault.ErrRefused where that was changed.
func (s seal) open(n int, piece []byte) ([]byte, error) {
	if s.key == nil {
		return piece, nil
	}
	return vault.Open(s.key, s.place(n), piece)
}

// place binds a piece to its content and its number.
func (s seal) place(n int) vault.Place {
	return vault.Place{Table: "blob_chunk", Column: "data", Workspace: s.workspace, Row: s.id, Name: strconv.Itoa(n)}
}

// keyPlace binds the key of bytes to their row.
func keyPlace(workspace, id ids.ID) vault.Place {
	return vault.Place{Table: "blob_data", Column: "sealed_key", Workspace: workspace, Row: id}
}
