package accounts

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/alexedwards/scs/v2"

	"fleetboard/db"
	"fleetboard/internal/ids"
)

// The values of a session, all of them strings. The store keeps the first five
// in columns too, so that a person can list sessions and end them.
const (
	// SessionAccount is whose the session is: whoever has it is logged in.
	SessionAccount   = "account"
	SessionAddress   = "address"
	SessionUserAgent = "user_agent"
	// SessionEpoch is the account's count of times that all sessions ended, at
	// the moment the credentials were checked. A later count ends the session.
	SessionEpoch = "epoch"
	// SessionHalf is the account whose password was right and whose second factor
	// was not asked yet. It opens nothing but the page that asks for it.
	SessionHalf = "half"
	// SessionProven is when the person has last proven in this session who he is,
	// in seconds since 1970; the log in is the first time.
	SessionProven = "proven"
	// SessionWorkspace is the workspace that the person chose last.
	SessionWorkspace = "workspace"
)

const (
	// storeTimeout bounds the calls that bring no context.
	storeTimeout = 5 * time.Second
	// MaxUserAgent is how many characters of what a browser calls itself are kept.
	MaxUserAgent = 400
	// sessionIdle ends a session that nothing was heard of. An open page is heard
	// of: its live stream looks at the session all the time.
	sessionIdle = 3 * time.Hour
)

// SessionStore keeps browser sessions in PostgreSQL for scs. Rows are found by
// the SHA-256 of their token. An ended session is never written again.
type SessionStore struct {
	db    *db.DB
	codec scs.GobCodec
}

var _ scs.CtxStore = (*SessionStore)(nil)

// NewSessionStore returns a store for a session manager with the default codec.
func NewSessionStore(d *db.DB) *SessionStore { return &SessionStore{db: d} }

// FindCtx returns the data of a live session.
func (s *SessionStore) FindCtx(ctx context.Context, token string) (data []byte, found bool, err error) {
	hash, unseen := secretHash(token), false
	err = s.db.OnceInNone(ctx, func(tx db.Tx) error {
		data, found, unseen, err = findSessionTx(ctx, tx, hash)
		return err
	})
	if err != nil || !unseen {
		return data, found, err
	}
	err = s.db.InNone(ctx, func(tx db.Tx) error { return sessionSeenTx(ctx, tx, hash) })
	return data, found, err
}

// CommitCtx saves a session. Where it has ended in the meantime nothing is
// saved, and that is no error: the cookie simply opens nothing.
func (s *SessionStore) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	row, err := s.decode(data)
	if err != nil {
		return err
	}
	row.hash, row.data, row.expires = secretHash(token), data, expiry
	return s.db.InNone(ctx, func(tx db.Tx) error { return commitSessionTx(ctx, tx, row) })
}

// DeleteCtx ends a session and leaves its tombstone.
func (s *SessionStore) DeleteCtx(ctx context.Context, token string) error {
	return s.db.InNone(ctx, func(tx db.Tx) error {
		_, err := endSessionTx(ctx, tx, secretHash(token))
		return err
	})
}

// Find is FindCtx without a context.
func (s *SessionStore) Find(token string) ([]byte, bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	return s.FindCtx(ctx, token)
}

// Commit is CommitCtx without a context.
func (s *SessionStore) Commit(token string, data []byte, expiry time.Time) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	return s.CommitCtx(ctx, token, data, expiry)
}

// Delete is DeleteCtx without a context.
func (s *SessionStore) Delete(token string) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	return s.DeleteCtx(ctx, token)
}

// sessionRow is a session as it is stored.
type sessionRow struct {
	hash, data         []byte
	account            *ids.ID
	epoch              int64
	half               bool
	address, userAgent string
	expires            time.Time
}

func (s *SessionStore) decode(data []byte) (sessionRow, error) {
	_, values, err := s.codec.Decode(data)
	if err != nil {
		return sessionRow{}, fmt.Errorf("decode session: %w", err)
	}
	text := func(name string) string {
		value, _ := values[name].(string)
		return value
	}
	row := sessionRow{address: text(SessionAddress), userAgent: cut(text(SessionUserAgent), MaxUserAgent)}
	whole, isWhole := ids.Parse(text(SessionAccount))
	half, isHalf := ids.Parse(text(SessionHalf))
	switch {
	case isWhole:
		row.account = &whole
	case isHalf:
		row.account, row.half = &half, true
	}
	if epoch := text(SessionEpoch); epoch != "" {
		if row.epoch, err = strconv.ParseInt(epoch, 10, 64); err != nil {
			return sessionRow{}, fmt.Errorf("the epoch of a session: %w", err)
		}
	}
	return row, nil
}

// cut makes text from a browser fit to be stored.
func cut(text string, runes int) string {
	out := make([]rune, 0, min(len(text), runes))
	for _, r := range text {
		if len(out) == runes {
			break
		}
		if r != 0 {
			out = append(out, r)
		}
	}
	return string(out)
}
