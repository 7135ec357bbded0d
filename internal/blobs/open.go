package blobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// ErrDamaged is what a read ends with where the stored bytes are not those that were put.
var ErrDamaged = errors.New("the stored bytes of a blob are not those that were put")

// Open returns a reader of a blob. NotFound where there is none, and where who may not
// read it. It holds about 1 MB in memory, and a connection to the database only while it
// reads from it.
func (s *Service) Open(ctx context.Context, who tenancy.Principal, sum Sum) (*Reader, error) {
	r := &Reader{ctx: ctx, service: s, who: who, whole: sha256.New()}
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		var isPutter bool
		var err error
		if r.Blob, r.stored, isPutter, err = getTx(ctx, tx, who, sum); err != nil {
			return err
		}
		if err := s.requireReaderTx(ctx, tx, who, sum, isPutter); err != nil {
			return err
		}
		r.seal, err = s.openSealTx(ctx, tx, who.Workspace, r.stored)
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.store, err = s.findStore(r.stored.store); err != nil {
		return nil, err
	}
	return r, nil
}

// Reader reads a blob from any place on. Each piece is checked against its digest, and
// the SHA-256 before the last piece of a read from beginning to end is given out: whoever
// gets all bytes has those that were put. It is not safe for concurrent use.
type Reader struct {
	Blob

	ctx     context.Context // of the call; a read of io has none
	service *Service
	who     tenancy.Principal
	stored  stored
	store   Store
	seal    seal
	held    bool // the caller has a turn

	at     int64    // where the next read begins
	first  int      // number of the first piece in pieces
	pieces [][]byte // those that were fetched last
	whole  hash.Hash
	hashed int // how many pieces whole has seen
	err    error
}

// Err returns what ended the reading, nil where nothing did.
func (r *Reader) Err() error { return r.err }

// InTurn has the reader take no turns of its own, for a request that holds one until it is answered: it would
// wait for itself.
func (r *Reader) InTurn() *Reader {
	r.held = true
	return r
}

// Seek moves to another place, as io.Seeker says.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.Size
	}
	if offset < 0 {
		return r.at, fmt.Errorf("seek to %d", offset)
	}
	r.at = offset
	return offset, nil
}

// Read reads on; ErrDamaged where the bytes that come next are not those that were put.
func (r *Reader) Read(p []byte) (int, error) {
	switch {
	case r.err != nil:
		return 0, r.err
	case r.at >= r.Size:
		return 0, io.EOF
	}
	n := int(r.at / PieceSize)
	if n < r.first || n >= r.first+len(r.pieces) {
		if r.err = r.fetch(n); r.err != nil {
			return 0, r.err
		}
	}
	copied := copy(p, r.pieces[n-r.first][r.at%PieceSize:])
	r.at += int64(copied)
	return copied, nil
}

// count returns how many pieces the blob has.
func (r *Reader) count() int { return int((r.Size + PieceSize - 1) / PieceSize) }

// fetch reads the piece n; where the one before it was read last, some more with it.
func (r *Reader) fetch(n int) error {
	if !r.held {
		turn, err := r.service.turns.Await(r.ctx, r.who)
		if err != nil {
			return err
		}
		defer turn.End()
	}
	past := n + 1
	if n == r.first+len(r.pieces) {
		past = min(n+piecesAtOnce, r.count())
	}
	kept, err := r.store.Read(r.ctx, Content{Workspace: r.who.Workspace, ID: r.stored.id, PieceSize: PieceSize + r.seal.length()}, n, past)
	if err != nil {
		return err
	}
	r.first, r.pieces = n, make([][]byte, 0, past-n)
	for i, one := range kept {
		piece, ok := r.check(n+i, one)
		if !ok {
			break // what is before it is good
		}
		r.pieces = append(r.pieces, piece)
	}
	if len(r.pieces) == 0 {
		return r.damaged()
	}
	return nil
}

// check opens a stored piece. It is not ok where that was changed.
func (r *Reader) check(n int, kept []byte) (piece []byte, ok bool) {
	digest := sha256.Sum256(kept)
	from, to := n*sha256.Size, (n+1)*sha256.Size
	if len(r.stored.digests) < to || !bytes.Equal(digest[:], r.stored.digests[from:to]) {
		return nil, false
	}
	piece, err := r.seal.open(n, kept)
	if err != nil || int64(len(piece)) != min(PieceSize, r.Size-int64(n)*PieceSize) {
		return nil, false
	}
	if n == r.hashed {
		r.whole.Write(piece)
		r.hashed++
	}
	return piece, r.hashed < r.count() || bytes.Equal(r.whole.Sum(nil), r.Sum[:])
}

// damaged notes the damage, so that the next upload of the content replaces the bytes.
func (r *Reader) damaged() error {
	err := r.service.db.In(r.ctx, db.Workspace(r.who.Workspace), func(tx db.Tx) error {
		return q.BlobDamaged(r.ctx, tx, r.who.Workspace, r.Sum[:], r.stored.id)
	})
	return errors.Join(fmt.Errorf("blob %s: %w", r.Sum, ErrDamaged), err)
}
