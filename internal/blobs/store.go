package blobs

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Content is where the pieces of some bytes are kept. All but the last have PieceSize
// bytes.
type Content struct {
	Workspace, ID ids.ID
	PieceSize     int // as it is stored: sealed pieces are longer
}

// Store keeps pieces. It neither checks nor seals them.
type Store interface {
	// Name is what rows call the store; it never changes.
	Name() string
	// Write begins to store a content that is not there yet.
	Write(c Content) Writer
	// Read returns the pieces from first up to before past, in their order. Where some are
	// missing or have another length, the list is shorter or they are.
	Read(ctx context.Context, c Content, first, past int) ([][]byte, error)
	// Remove deletes what is there of a content, also of one that was never finished.
	Remove(ctx context.Context, c Content) error
}

// Writer stores the pieces of one content one after another. It does not keep what it is
// given. One that is not closed leaves what Remove finds.
type Writer interface {
	Write(ctx context.Context, pieces [][]byte) error
	// Close returns when all is stored.
	Close(ctx context.Context) error
}
