package sessions

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// The values of a session, all of them strings. The store keeps the first five
// in columns too, so that a person can list sessions and end them.
const (
	// Account is whose the session is: whoever has it is logged in.
	Account   = "account"
	Address   = "address"
	UserAgent = "user_agent"
	// Epoch is the account's count of times that all sessions ended, at
	// the moment the credentials were checked. A later count ends the session.
	Epoch = "epoch"
	// Half is the account whose password was right and whose second factor
	// was not requested yet. It opens nothing but the page that requests it.
	Half = "half"
	// Proven is when the person has last proven in this session who he is,
	// in seconds since 1970; the log in is the first time.
	Proven = "proven"
	// Workspace is the workspace that the person chose last.
	Workspace = "workspace"
)

const (
	// storeTimeout bounds the calls that bring no context.
	storeTimeout = 5 * time.Second
	// MaxUserAgent is how many characters of what a browser calls itself are kept.
	MaxUserAgent = 400
	// idle ends a session that sent no request. An open page counts as
	// requests: its live stream looks at the session all the time.
	idle = 3 * time.Hour
)

// Store keeps browser sessions in PostgreSQL for scs. Rows are found by
// the SHA-256 of their token. An ended session is never written again.
type Store struct {
	db    *db.DB
	codec scs.GobCodec
}

var _ scs.CtxStore = (*Store)(nil)

// NewStore returns a store for a session manager with the default codec.
func NewStore(d *db.DB) *Store { return &Store{db: d} }

// FindCtx returns the data of a live session.
func (s *Store) FindCtx(ctx context.Context, token string) (data []byte, found bool, err error) {
	hash, unseen := secrets.Hash(token), false
	err = s.db.In(ctx, db.None, func(tx db.Tx) error {
		data, found, unseen, err = findTx(ctx, tx, hash)
		return err
	}, db.OneRead)
	if err != nil || !unseen {
		return data, found, err
	}
	err = s.db.In(ctx, db.None, func(tx db.Tx) error { return q.SessionSeen(ctx, tx, hash) })
	return data, found, err
}

// CommitCtx saves a session. Where it has ended in the meantime nothing is
// saved, and that is no error: the cookie simply opens nothing.
func (s *Store) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	row, err := s.decode(data)
	if err != nil {
		return err
	}
	row.hash, row.data, row.expires = secrets.Hash(token), data, expiry
	return s.db.In(ctx, db.None, func(tx db.Tx) error { return commitTx(ctx, tx, row) })
}

// DeleteCtx ends a session and leaves its tombstone.
func (s *Store) DeleteCtx(ctx context.Context, token string) error {
	return s.db.In(ctx, db.None, func(tx db.Tx) error {
		_, err := endTx(ctx, tx, secrets.Hash(token))
		return err
	})
}

// Find is FindCtx without a context.
func (s *Store) Find(token string) ([]byte, bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	return s.FindCtx(ctx, token)
}

// Commit is CommitCtx without a context.
func (s *Store) Commit(token string, data []byte, expiry time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	return s.CommitCtx(ctx, token, data, expiry)
}

// Delete is DeleteCtx without a context.
func (s *Store) Delete(token string) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	return s.DeleteCtx(ctx, token)
}

// record is a session as it is stored.
type record struct {
	hash, data         []byte
	account            *ids.ID
	epoch              int64
	half               bool
	address, userAgent string
	expires            time.Time
}

func (s *Store) decode(data []byte) (record, error) {
	_, values, err := s.codec.Decode(data)
	if err != nil {
		return record{}, fmt.Errorf("decode session: %w", err)
	}
	text := func(name string) string {
		value, _ := values[name].(string)
		return value
	}
	row := record{address: text(Address), userAgent: people.Cut(text(UserAgent), MaxUserAgent)}
	whole, isWhole := ids.Parse(text(Account))
	half, isHalf := ids.Parse(text(Half))
	switch {
	case isWhole:
		row.account = &whole
	case isHalf:
		row.account, row.half = &half, true
	}
	if epoch := text(Epoch); epoch != "" {
		if row.epoch, err = strconv.ParseInt(epoch, 10, 64); err != nil {
			return record{}, fmt.Errorf("the epoch of a session: %w", err)
		}
	}
	return row, nil
}
