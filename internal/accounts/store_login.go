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
func (s *Service) NoteLogIn(ctx context.Context, account ids.ID, epoch int64, from Origin, userAgent, token string) error {
	_, known := s.knownDevice(from.Devices, account, epoch)
	return s.db.InNone(ctx, func(tx db.Tx) error {
		_, err := q.AccountLoginInsert(ctx, tx, dbsqlc.AccountLoginInsertParams{
			AccountID: account, ID: ids.New(), Address: cut(from.Address, maxAddress), UserAgent: cut(userAgent, maxUserAgent),
			Network: site(from.Address), TokenHash: secretHash(token), KnownDevice: known,
		})
		return err
	})
}

// maxAddress is the length of a network address as it is kept.
const maxAddress = 100

// NewLogIns lists the new log ins of the asker that nobody said anything about,
// but that of the asking session, whose token it is. Fault: Forbidden.
func (s *Service) NewLogIns(ctx context.Context, who tenancy.Principal, token string) ([]LogInNews, error) {
	if err := onlyPeople(who); err != nil {
		return nil, err
	}
	var list []LogInNews
	err := s.db.InNone(ctx, func(tx db.Tx) error {
		rows, err := q.AccountLoginNews(ctx, tx, dbsqlc.AccountLoginNewsParams{AccountID: who.Account, TokenHash: secretHash(token)})
		for _, r := range rows {
			list = append(list, LogInNews{ID: r.ID, At: r.At, Address: r.Address, UserAgent: r.UserAgent})
		}
		return err
	})
	return list, err
}

// SettleLogIn takes the person's word about a new log in. Where it was not the
// person, its session ends. Faults: NotFound, also for the asking session's own
// log in; Forbidden.
func (s *Service) SettleLogIn(ctx context.Context, who tenancy.Principal, login ids.ID, mine bool, token string) error {
	if err := onlyPeople(who); err != nil {
		return err
	}
	return s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		row, err := q.AccountLoginSettle(ctx, tx, dbsqlc.AccountLoginSettleParams{AccountID: who.Account, ID: login,
			TokenHash: secretHash(token)})
		ok, err := none(err)
		if err == nil && !ok {
			err = fault.New(fault.NotFound, "There is no such log in, or it was settled before.")
		}
		if err != nil || mine {
			return err
		}
		if row.SessionID != nil {
			if _, err := endOneSessionTx(ctx, tx, who.Account, *row.SessionID); err != nil {
				return err
			}
		}
		payload, err := json.Marshal(map[string]string{"address": row.Address})
		if err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
		return appendTx(ctx, tx, who, eventlog.Event{Type: eventlog.LogInDisowned, Payload: payload})
	})
}
