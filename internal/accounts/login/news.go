package login

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/accounts/people"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// LogInNews is a log in from a browser or a network that was not known.
type LogInNews struct {
	ID        ids.ID
	At        time.Time
	Address   string
	UserAgent string // as the browser said it: hostile text
}

// NoteLogIn remembers a log in that has begun the session of a token. One from an
// unknown browser, or from a network that the account did not come from in 90
// days, is shown to the person's other sessions.
func (s *Service) NoteLogIn(ctx context.Context, account ids.ID, epoch int64, from devices.Origin, userAgent, token string) error {
	_, known := s.devices.Known(from.Devices, account, epoch)
	return s.db.In(ctx, db.None, func(tx db.Tx) error {
		return insertLogInTx(ctx, tx, account, from, userAgent, token, known)
	})
}

// maxAddress is the length of a network address as it is kept.
const maxAddress = 100

// NewLogIns lists the new log ins of the caller that nobody said anything about,
// but that of the calling session, whose token it is. Fault: Forbidden.
func (s *Service) NewLogIns(ctx context.Context, who tenancy.Principal, token string) ([]LogInNews, error) {
	if err := people.OnlyPeople(who); err != nil {
		return nil, err
	}
	var list []LogInNews
	err := s.db.In(ctx, db.None, func(tx db.Tx) error {
		var err error
		list, err = newLogInsTx(ctx, tx, who.Account, token)
		return err
	})
	return list, err
}

// SettleLogIn takes the person's word about a new log in. Where it was not the
// person, its session ends. Faults: NotFound, also for the asking session's own
// log in; Forbidden.
func (s *Service) SettleLogIn(ctx context.Context, who tenancy.Principal, login ids.ID, mine bool, token string) error {
	if err := people.OnlyPeople(who); err != nil {
		return err
	}
	return s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		address, session, ok, err := settleLogInTx(ctx, tx, who.Account, login, token)
		if err == nil && !ok {
			err = fault.New(fault.NotFound, "There is no such log in, or it was settled before.")
		}
		if err != nil || mine {
			return err
		}
		if session != nil {
			if _, err := sessions.EndOneTx(ctx, tx, who.Account, *session); err != nil {
				return err
			}
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.LogInDisowned, map[string]string{"address": address})
	})
}
