package blobs

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

const (
	// PieceSize is how many bytes of a content one piece has; the last may have fewer.
	PieceSize = 256 << 10
	// piecesAtOnce is how many pieces are held in memory and given to a store at once.
	piecesAtOnce = 4

	// DefaultMaxSize is how many bytes a blob may have where nothing else is configured.
	DefaultMaxSize = 64 << 20
	// DefaultMaxTotal is how many all of a workspace may have.
	DefaultMaxTotal = 5 << 30
)

const (
	// Grace is how long a blob is kept that nothing refers to.
	Grace = 24 * time.Hour
	// uploadLife is how long an upload may stand still, and how long bytes that lost
	// their name can still be read by those who read them already.
	uploadLife = time.Hour
)

// Options are what a service is made of beside the database.
type Options struct {
	// Store keeps new contents; nil is PostgreSQL.
	Store Store
	// MaxSize is how many bytes a blob may have, MaxTotal how many all of a workspace.
	// 0 is the default.
	MaxSize, MaxTotal int64
	// Jobs says which jobs somebody may read, Messages which messages. Without them an agent
	// reads what it put only.
	Jobs, Messages Readable
	// Turns are those in which pieces are read and stored; nil is no limit.
	Turns *quota.Turns
}

// Readable says of one kind of what refers to blobs whether an agent may read it. People
// who may read the board are not checked.
type Readable interface {
	// MayReadAnyTx reports whether who may read one of these.
	MayReadAnyTx(ctx context.Context, tx db.Tx, who tenancy.Principal, list []ids.ID) (bool, error)
}

// Service keeps the blobs of all workspaces. It is safe for concurrent use.
type Service struct {
	db       *db.DB
	vault    *vault.Vault
	store    Store
	stores   map[string]Store
	maxSize  int64
	maxTotal int64
	jobs     Readable
	messages Readable
	turns    *quota.Turns
}

// New returns the blobs kept in d.
func New(d *db.DB, v *vault.Vault, o Options) *Service {
	rows := chunks{d}
	s := &Service{db: d, vault: v, store: rows, stores: map[string]Store{rows.Name(): rows},
		jobs: o.Jobs, messages: o.Messages, turns: o.Turns, maxSize: DefaultMaxSize, maxTotal: DefaultMaxTotal}
	if o.Store != nil {
		s.store, s.stores[o.Store.Name()] = o.Store, o.Store
	}
	if o.MaxSize > 0 {
		s.maxSize = o.MaxSize
	}
	if o.MaxTotal > 0 {
		s.maxTotal = o.MaxTotal
	}
	return s
}

// MaxSize returns how many bytes a blob may have.
func (s *Service) MaxSize() int64 { return s.maxSize }

// findStore returns the store that has some bytes; Unavailable where this process was not given it.
func (s *Service) findStore(name string) (Store, error) {
	if known, ok := s.stores[name]; ok {
		return known, nil
	}
	return nil, fault.New(fault.Unavailable, "This blob is kept in a store that the server was not given: set FLEETBOARD_BLOBS_URL.")
}
