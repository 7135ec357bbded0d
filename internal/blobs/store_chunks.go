package blobs

import (
	"context"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
)

// chunks is the store in PostgreSQL, a row a piece.
type chunks struct{ db *db.DB }

// deleteAtOnce is how many pieces one transaction deletes.
const deleteAtOnce = 64

// Name returns the store's name in rows.
func (chunks) Name() string { return "postgres" }

// Write begins a content.
func (s chunks) Write(c Content) Writer { return &chunkWriter{chunks: s, content: c} }

// Read returns pieces.
func (s chunks) Read(ctx context.Context, c Content, first, past int) (pieces [][]byte, err error) {
	err = s.db.In(ctx, db.Workspace(c.Workspace), func(tx db.Tx) error {
		rows, err := q.BlobChunkList(ctx, tx, c.Workspace, c.ID, first, past)
		pieces = nil
		for i, r := range rows {
			if r.N != first+i {
				break // one is missing
			}
			pieces = append(pieces, r.Data)
		}
		return err
	}, db.OneRead)
	if err != nil {
		return nil, fmt.Errorf("read pieces: %w", err)
	}
	return pieces, nil
}

// Remove deletes all pieces, some at a time.
func (s chunks) Remove(ctx context.Context, c Content) error {
	for n := int64(deleteAtOnce); n == deleteAtOnce; {
		err := s.db.In(ctx, db.Workspace(c.Workspace), func(tx db.Tx) (err error) {
			n, err = q.BlobChunkDelete(ctx, tx, c.Workspace, c.ID, deleteAtOnce)
			return err
		})
		if err != nil {
			return fmt.Errorf("delete pieces: %w", err)
		}
	}
	return nil
}

// chunkWriter writes the rows of one content.
type chunkWriter struct {
	chunks
	content Content
	n       int
}

// Write adds pieces.
func (w *chunkWriter) Write(ctx context.Context, pieces [][]byte) error {
	var numbers []int
	for range pieces {
		numbers = append(numbers, w.n)
		w.n++
	}
	err := w.db.In(ctx, db.Workspace(w.content.Workspace), func(tx db.Tx) error {
		return q.BlobChunkInsert(ctx, tx, w.content.Workspace, w.content.ID, numbers, pieces)
	})
	if err != nil {
		return fmt.Errorf("write pieces: %w", err)
	}
	return nil
}

// Close has nothing left to do.
func (*chunkWriter) Close(context.Context) error { return nil }
