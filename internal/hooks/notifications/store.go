package notifications

import (
	"context"
	"encoding/json"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/status"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

const (
	// maxFound is how many decisions of a kind are looked for, the newest, beside those that somebody
	// was told of already; maxScanned is how many blocked jobs are looked at for questions.
	maxFound   = 200
	maxScanned = 2000
)

func peopleTx(ctx context.Context, tx db.Tx, workspace ids.ID) (map[ids.ID]person, []person, error) {
	rows, err := q.NotificationPeople(ctx, tx, workspace)
	list, err := db.Map(rows, err, func(r dbsqlc.NotificationPeopleRow) person {
		p := person{account: r.AccountID, name: r.Name, email: r.Email, role: tenancy.Role(r.Role), disabled: r.Disabled,
			channels: typed[Channel](r.Channels), kinds: typed[Kind](r.Kinds), digest: time.Duration(r.DigestMinutes) * time.Minute,
			escalate: time.Duration(r.EscalateMinutes) * time.Minute, next: r.EscalateTo}
		if r.QuietFrom != nil && r.QuietTo != nil {
			p.quiet = quiet{*r.QuietFrom, *r.QuietTo, loadZone(r.Timezone)}
		}
		return p
	})
	people := make(map[ids.ID]person, len(list))
	for _, p := range list {
		people[p.account] = p
	}
	return people, list, err
}

// loadZone returns a time zone; one that this server does not know any more is UTC.
func loadZone(name string) *time.Location {
	if zone, err := time.LoadLocation(name); err == nil {
		return zone
	}
	return time.UTC
}

func typed[T ~string](list []string) []T {
	out := make([]T, len(list))
	for i, s := range list {
		out[i] = T(s)
	}
	return out
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// stateTx reads all that is known of a workspace; nothing where nobody there wants to be told.
func stateTx(ctx context.Context, tx db.Tx, workspace ids.ID) (s state, err error) {
	if _, s.people, err = peopleTx(ctx, tx, workspace); err != nil || len(s.people) == 0 {
		return s, err
	}
	s.outcomes = map[ids.ID]outcome{}
	for _, read := range []func(context.Context, db.Tx, ids.ID, *state) error{jobsTx, budgetsTx, agentsTx, stopsTx,
		listToldTx, messagesTx} {
		if err := read(ctx, tx, workspace, &s); err != nil {
			return s, err
		}
	}
	return s, nil
}

func jobsTx(ctx context.Context, tx db.Tx, workspace ids.ID, s *state) error {
	rows, err := q.NotificationJobs(ctx, tx, workspace, maxFound, maxScanned)
	for _, r := range rows {
		j := openJob{id: r.ID, key: r.Key, title: r.Title, status: status.Status(r.Status), since: r.StatusAt, by: r.StatusBy,
			byID: r.StatusByID, epoch: r.Epoch, question: r.Question, error: r.LastError, asks: r.Asks, verifying: r.Verifying}
		if d, waits := j.decision(); waits {
			s.open = append(s.open, d)
		}
		s.outcomes[j.id] = j.outcome()
	}
	return err
}

func budgetsTx(ctx context.Context, tx db.Tx, workspace ids.ID, s *state) error {
	rows, err := q.NotificationBudgets(ctx, tx, workspace, maxFound)
	for _, r := range rows {
		s.open = append(s.open, budgetDecision(r.ID, r.Name, r.PeriodStart))
	}
	return err
}

func agentsTx(ctx context.Context, tx db.Tx, workspace ids.ID, s *state) error {
	rows, err := q.NotificationDeadAgents(ctx, tx, workspace, maxFound)
	for _, r := range rows {
		s.open = append(s.open, agentDecision(r.ID, r.Name, r.Factory, r.BootID))
	}
	return err
}

func stopsTx(ctx context.Context, tx db.Tx, workspace ids.ID, s *state) error {
	rows, err := q.NotificationStops(ctx, tx, workspace, maxFound)
	for _, r := range rows {
		s.open = append(s.open, stopDecision(r.ID, r.Product, r.Reason, r.ByName, r.StoppedAt))
	}
	return err
}

func listToldTx(ctx context.Context, tx db.Tx, workspace ids.ID, s *state) (err error) {
	rows, err := q.NotificationRows(ctx, tx, workspace)
	s.told, err = db.Map(rows, err, func(r dbsqlc.NotificationRowsRow) told {
		return told{Account: r.AccountID, Decision: r.Decision, Kind: Kind(r.Kind), Job: r.JobID, Stamp: r.Stamp, Title: r.Title,
			Detail: r.Detail, Path: r.Path, OpenedAt: r.OpenedAt, ClosedAt: r.ClosedAt, Outcome: r.Outcome, EscalateAt: r.EscalateAt,
			From: r.EscalatedFrom}
	})
	return err
}

func messagesTx(ctx context.Context, tx db.Tx, workspace ids.ID, s *state) (err error) {
	rows, err := q.NotificationDeliveries(ctx, tx, workspace)
	s.messages, err = db.Map(rows, err, func(r dbsqlc.NotificationDeliveriesRow) message {
		return message{Account: r.AccountID, Decision: r.Decision, Channel: Channel(r.Channel), DueAt: r.DueAt, sent: r.SentStamp}
	})
	return err
}

// writeTx writes what a plan says.
func writeTx(ctx context.Context, tx db.Tx, workspace ids.ID, c changes) error {
	if len(c.drop) > 0 {
		rows, err := json.Marshal(c.drop)
		if err != nil {
			return err
		}
		if err := q.NotificationDrop(ctx, tx, rows, workspace); err != nil {
			return err
		}
	}
	if len(c.save) > 0 {
		rows, err := json.Marshal(c.save)
		if err != nil {
			return err
		}
		if err := q.NotificationSave(ctx, tx, workspace, rows); err != nil {
			return err
		}
	}
	if len(c.deliver) == 0 {
		return nil
	}
	rows, err := json.Marshal(c.deliver)
	if err != nil {
		return err
	}
	return q.NotificationDeliver(ctx, tx, workspace, rows)
}
