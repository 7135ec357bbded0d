package sessions

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/secrets"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// ProofLife is how long what a person has proven in a session is believed, before
// something that outlasts the session.
const ProofLife = 10 * time.Minute

// Session is a browser that is logged in.
type Session struct {
	ID        ids.ID
	Address   string
	UserAgent string // as the browser said it: hostile text
	Since     time.Time
	LastSeen  time.Time // give or take a minute
	This      bool      // that of the caller
}

// List lists where the caller is logged in: this browser first, then by last
// use, at most 100. The token is the calling browser's. Fault: Forbidden.
func (s *Service) List(ctx context.Context, who tenancy.Principal, token string) ([]Session, error) {
	if err := people.OnlyPeople(who); err != nil {
		return nil, err
	}
	var list []Session
	err := s.db.In(ctx, db.None, func(tx db.Tx) error {
		var err error
		list, err = listTx(ctx, tx, who.Account, secrets.Hash(token))
		return err
	})
	return list, err
}

// End ends one of the caller's sessions. Faults: NotFound, also for another
// person's and for one that is over; Forbidden.
func (s *Service) End(ctx context.Context, who tenancy.Principal, session ids.ID) error {
	if err := people.OnlyPeople(who); err != nil {
		return err
	}
	return s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		ok, err := EndOneTx(ctx, tx, who.Account, session)
		if err != nil {
			return err
		}
		if !ok {
			return fault.New(fault.NotFound, "This session is over already.")
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.SessionsEnded, map[string]int{"sessions": 1})
	})
}

// EndOthers ends all of the caller's sessions but the one of the token, and
// says how many were live. Fault: Forbidden.
func (s *Service) EndOthers(ctx context.Context, who tenancy.Principal, token string) (int, error) {
	if err := people.OnlyPeople(who); err != nil {
		return 0, err
	}
	n := 0
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		var err error
		if n, err = EndOthersTx(ctx, tx, who.Account, secrets.Hash(token)); err != nil || n == 0 {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.SessionsEnded, map[string]int{"sessions": n})
	})
	return n, err
}

// EndAll ends all of the caller's sessions, also those of log ins that are
// under way. Fault: Forbidden.
func (s *Service) EndAll(ctx context.Context, who tenancy.Principal) error {
	if err := people.OnlyPeople(who); err != nil {
		return err
	}
	return s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if err := EndEpochTx(ctx, tx, who.Account); err != nil {
			return err
		}
		n, err := EndOthersTx(ctx, tx, who.Account, nil)
		if err != nil {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.SessionsEnded, map[string]int{"sessions": n})
	})
}

// EndThis ends the session of a token whose place a renewed one takes.
// Where it is over already, none may take its place: that is Unauthenticated.
func (s *Service) EndThis(ctx context.Context, token string) error {
	return s.db.In(ctx, db.None, func(tx db.Tx) error { return EndThisTx(ctx, tx, token) })
}

// EndThisTx is EndThis in the caller's transaction.
func EndThisTx(ctx context.Context, tx db.Tx, token string) error {
	live, err := endTx(ctx, tx, secrets.Hash(token))
	if err == nil && !live {
		err = fault.New(fault.Unauthenticated, "You were logged out at this moment.")
	}
	return err
}

// Epoch returns the value of Epoch for a session that begins now.
func (s *Service) Epoch(ctx context.Context, account ids.ID) (int64, error) {
	var epoch int64
	err := s.db.In(ctx, db.None, func(tx db.Tx) error {
		var err error
		epoch, err = EpochTx(ctx, tx, account)
		return err
	})
	return epoch, err
}
