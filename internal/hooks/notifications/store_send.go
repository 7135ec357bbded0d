package notifications

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/status"
)

// dueTx takes the messages of a workspace that are due, for takeFor.
func dueTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]item, error) {
	rows, err := q.NotificationTake(ctx, tx, int(takeFor.Seconds()), workspace, takeAtOnce)
	return db.Map(rows, err, func(r dbsqlc.NotificationTakeRow) item {
		return item{
			message: message{Account: r.AccountID, Decision: r.Decision, Channel: Channel(r.Channel), DueAt: r.DueAt, sent: r.SentStamp},
			tries:   r.Tries,
			decision: decision{id: r.Decision, kind: Kind(r.Kind), job: r.JobID, stamp: r.Stamp, title: r.Title, detail: r.Detail,
				path: r.Path},
			closed: r.Closed, outcome: r.Outcome, openedAt: r.OpenedAt, fromID: r.EscalatedFrom, thread: r.MessageID,
		}
	})
}

// headsTx returns what the links to reviews end with, by job: the version and the commit that they are about.
func headsTx(ctx context.Context, tx db.Tx, workspace ids.ID, due []item) (map[ids.ID]string, error) {
	var jobs []ids.ID
	for _, i := range due {
		if i.decision.job != nil && i.decision.kind == Review {
			jobs = append(jobs, *i.decision.job)
		}
	}
	found, err := q.NotificationVersions(ctx, tx, workspace, jobs)
	heads := make(map[ids.ID]string, len(found))
	for _, v := range found {
		if v.Status != string(status.InReview) {
			continue
		}
		heads[v.ID] = fmt.Sprint("&version=", v.Version)
		if v.Head != "" {
			heads[v.ID] += "&head=" + escape(v.Head)
		}
	}
	return heads, err
}

// sentTx notes that a message of a parcel was sent.
func sentTx(ctx context.Context, tx db.Tx, p parcel, i item) error {
	stamp := i.stamp()
	return q.NotificationSent(ctx, tx, dbsqlc.NotificationSentParams{SentStamp: &stamp, MessageID: cmp.Or(i.thread, p.id), DueAt: i.DueAt,
		WorkspaceID: p.space, AccountID: i.Account, Decision: i.Decision, Channel: string(i.Channel)})
}

// forgetTx has a message sent at another time, or never.
func forgetTx(ctx context.Context, tx db.Tx, workspace ids.ID, i item, due *time.Time) error {
	return q.NotificationFailed(ctx, tx, dbsqlc.NotificationFailedParams{WasDue: i.DueAt, DueAt: due, WorkspaceID: workspace,
		AccountID: i.Account, Decision: i.Decision, Channel: string(i.Channel)})
}
