package blobs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// abandonTimeout bounds what is done for an upload that was broken off.
const abandonTimeout = 5 * time.Second

// Put stores what r gives until its end, and returns it with its sum; created is false
// where it was there already. It holds about 2 MB in memory, and no connection to the
// database while it waits for r. It is sealed where who is an agent that holds a job with
// secrets.
//
// Faults: Forbidden; TooLarge; StorageFull where the workspace has too much already;
// Unavailable; and the reader's errors as they are.
func (s *Service) Put(ctx context.Context, who tenancy.Principal, r io.Reader) (b Blob, created bool, err error) {
	if !who.Can(tenancy.PutBlobs) {
		return Blob{}, false, fault.New(fault.Forbidden, "Viewers do not store blobs.")
	}
	return s.put(ctx, who, s.turns, r)
}

// Keep is Put of what the server makes a blob of, out of what who said to it: who needs no
// right to store blobs of their own, and the call that says it has a turn where it needs one.
func (s *Service) Keep(ctx context.Context, who tenancy.Principal, r io.Reader) (Blob, error) {
	b, _, err := s.put(ctx, who, nil, r)
	return b, err
}

func (s *Service) put(ctx context.Context, who tenancy.Principal, turns *quota.Turns, r io.Reader) (b Blob, created bool, err error) {
	u, err := s.begin(ctx, who)
	if err != nil {
		return Blob{}, false, err
	}
	u.turns = turns
	if err = u.receive(ctx, r); err == nil {
		b, created, err = u.finish(ctx)
	}
	if err != nil && !errors.Is(err, db.ErrOutcomeUnknown) {
		u.abandon(ctx)
	}
	return b, created, err
}

// upload is a content on its way in.
type upload struct {
	*Service
	who     tenancy.Principal
	turns   *quota.Turns
	id      ids.ID
	seal    seal
	writer  Writer
	sum     hash.Hash
	size    int64
	digests []byte
}

// begin makes the row of an upload.
func (s *Service) begin(ctx context.Context, who tenancy.Principal) (*upload, error) {
	u := &upload{Service: s, who: who, id: ids.New(), sum: sha256.New(), digests: []byte{}}
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		of := stored{id: u.id, store: s.store.Name()}
		isSecret, err := holdsSecretsTx(ctx, tx, who)
		if err != nil {
			return fmt.Errorf("look for secrets: %w", err)
		}
		u.seal = seal{}
		if isSecret {
			made, key, err := s.newSealTx(ctx, tx, who.Workspace, u.id)
			if err != nil {
				return err
			}
			u.seal, of.key, of.sealedKey = made, &key.Key, key.Bytes
		}
		return beginTx(ctx, tx, who.Workspace, of)
	})
	if err != nil {
		return nil, err
	}
	u.writer = s.store.Write(Content{Workspace: who.Workspace, ID: u.id, PieceSize: PieceSize + u.seal.length()})
	return u, nil
}

// receive stores all of what r gives, some pieces at a time.
func (u *upload) receive(ctx context.Context, r io.Reader) error {
	buffers := make([][]byte, 0, piecesAtOnce)
	for end := false; !end; {
		pieces := make([][]byte, 0, piecesAtOnce)
		for len(pieces) < piecesAtOnce && !end {
			if len(buffers) == len(pieces) {
				buffers = append(buffers, make([]byte, PieceSize))
			}
			piece, err := readPiece(r, buffers[len(pieces)])
			if end = errors.Is(err, io.EOF); err != nil && !end {
				return err
			}
			if len(piece) == 0 {
				break
			}
			if u.size += int64(len(piece)); u.size > u.maxSize {
				return TooLarge(u.maxSize)
			}
			pieces = append(pieces, piece)
		}
		if err := u.write(ctx, pieces); err != nil {
			return err
		}
	}
	return u.writer.Close(ctx)
}

// TooLarge refuses a content that has more than so many bytes.
func TooLarge(most int64) error {
	return fault.New(fault.TooLarge, "A blob has at most %d bytes. Split the content, or name it by a link.", most).With("max_bytes", most)
}

// readPiece fills the buffer as far as r goes; io.EOF with what there is at its end. Any
// other error is the reader's own: that of a body that was broken off too.
func readPiece(r io.Reader, buffer []byte) ([]byte, error) {
	n := 0
	for n < len(buffer) {
		more, err := r.Read(buffer[n:])
		if n += more; err != nil {
			return buffer[:n], err
		}
	}
	return buffer, nil
}

// take hashes the next piece and returns what is stored of it.
func (u *upload) take(piece []byte) []byte {
	u.sum.Write(piece)
	kept := u.seal.piece(len(u.digests)/sha256.Size, piece)
	digest := sha256.Sum256(kept)
	u.digests = append(u.digests, digest[:]...)
	return kept
}

// write takes space for pieces, and stores them. It does so in a turn, which is not held
// while the next ones are on their way.
func (u *upload) write(ctx context.Context, pieces [][]byte) error {
	if len(pieces) == 0 {
		return nil
	}
	turn, err := u.turns.Await(ctx, u.who)
	if err != nil {
		return err
	}
	defer turn.End()
	var bytes int64
	for i, piece := range pieces {
		bytes += int64(len(piece))
		pieces[i] = u.take(piece)
	}
	err = u.db.In(ctx, db.Workspace(u.who.Workspace), func(tx db.Tx) error {
		return growTx(ctx, tx, u.who.Workspace, u.id, bytes, u.maxTotal)
	})
	if err != nil {
		return err
	}
	if err := u.writer.Write(ctx, pieces); err != nil {
		return err
	}
	return nil
}

// finish gives the bytes their name. Those that have it already stay, unless they were
// damaged, or are not sealed and these are.
func (u *upload) finish(ctx context.Context) (b Blob, created bool, err error) {
	err = u.db.In(ctx, db.Workspace(u.who.Workspace), func(tx db.Tx) error {
		b = Blob{Sum: Sum(u.sum.Sum(nil)), Size: u.size}
		named, err := nameTx(ctx, tx, u.who, b, u.id)
		if err != nil {
			return err
		}
		b.CreatedAt, created = named.CreatedAt, named.DataID == u.id
		if err := rememberTx(ctx, tx, u.who, b.Sum); err != nil {
			return err
		}
		switch {
		case created:
		case named.DamagedAt != nil || u.seal.key != nil && !named.Sealed:
			if err := q.BlobReplace(ctx, tx, u.id, u.who.Workspace, b.Sum[:]); err != nil {
				return err
			}
			if err := dropTx(ctx, tx, u.who.Workspace, named.DataID, uploadLife); err != nil {
				return err
			}
		default:
			return dropTx(ctx, tx, u.who.Workspace, u.id, 0)
		}
		return keepTx(ctx, tx, u.who.Workspace, u.id, u.size, u.digests)
	})
	return b, created, err
}

// abandon gives up the bytes of an upload that failed. Where that fails too they expire.
func (u *upload) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer cancel()
	_ = u.db.In(ctx, db.Workspace(u.who.Workspace), func(tx db.Tx) error { return dropTx(ctx, tx, u.who.Workspace, u.id, 0) })
}
