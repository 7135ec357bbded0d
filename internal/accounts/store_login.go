package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
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
func (s *loginService) NoteLogIn(ctx context.Context, account ids.ID, epoch int64, from Origin, userAgent, token string) error {
	_, known := s.devices.knownDevice(from.Devices, account, epoch)
	return s.db.InNone(ctx, func(tx db.Tx) error {
		return insertLogInTx(ctx, tx, account, from, userAgent, token, known)
	})
}

// maxAddress is the length of a network address as it is kept.
const maxAddress = 100

// NewLogIns lists the new log ins of the asker that nobody said anything about,
// but that of the asking session, whose token it is. Fault: Forbidden.
func (s *loginService) NewLogIns(ctx context.Context, who tenancy.Principal, token string) ([]LogInNews, error) {
	if err := onlyPeople(who); err != nil {
		return nil, err
	}
	var list []LogInNews
	err := s.db.InNone(ctx, func(tx db.Tx) error {
		var err error
		list, err = newLogInsTx(ctx, tx, who.Account, token)
		return err
	})
	return list, err
}

// SettleLogIn takes the person's word about a new log in. Where it was not the
// person, its session ends. Faults: NotFound, also for the asking session's own
// log in; Forbidden.
func (s *loginService) SettleLogIn(ctx context.Context, who tenancy.Principal, login ids.ID, mine bool, token string) error {
	if err := onlyPeople(who); err != nil {
		return err
	}
	return s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		address, session, ok, err := settleLogInTx(ctx, tx, who.Account, login, token)
		if err == nil && !ok {
			err = fault.New(fault.NotFound, "There is no such log in, or it was settled before.")
		}
		if err != nil || mine {
			return err
		}
		if session != nil {
			if _, err := endOneSessionTx(ctx, tx, who.Account, *session); err != nil {
				return err
			}
		}
		payload, err := json.Marshal(map[string]string{"address": address})
		if err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
		return appendTx(ctx, tx, who, eventlog.Event{Type: eventlog.LogInDisowned, Payload: payload})
	})
}

func insertLogInTx(ctx context.Context, tx db.Tx, account ids.ID, from Origin, userAgent, token string, known bool) error {
	_, err := q.AccountLoginInsert(ctx, tx, dbsqlc.AccountLoginInsertParams{
		AccountID: account, ID: ids.New(), Address: cut(from.Address, maxAddress), UserAgent: cut(userAgent, MaxUserAgent),
		Network: site(from.Address), TokenHash: secretHash(token), KnownDevice: known,
	})
	return err
}

func newLogInsTx(ctx context.Context, tx db.Tx, account ids.ID, token string) ([]LogInNews, error) {
	rows, err := q.AccountLoginNews(ctx, tx, dbsqlc.AccountLoginNewsParams{AccountID: account, TokenHash: secretHash(token)})
	if err != nil {
		return nil, fmt.Errorf("new log ins: %w", err)
	}
	var list []LogInNews
	for _, r := range rows {
		list = append(list, LogInNews{ID: r.ID, At: r.At, Address: r.Address, UserAgent: r.UserAgent})
	}
	return list, nil
}

// settleLogInTx returns where the log in came from, and its session where there is
// one; false where it is settled or the token's own.
func settleLogInTx(ctx context.Context, tx db.Tx, account, login ids.ID, token string) (address string, session *ids.ID, ok bool, err error) {
	row, err := q.AccountLoginSettle(ctx, tx, dbsqlc.AccountLoginSettleParams{AccountID: account, ID: login,
		TokenHash: secretHash(token)})
	ok, err = db.Found(err)
	return row.Address, row.SessionID, ok, err
}
