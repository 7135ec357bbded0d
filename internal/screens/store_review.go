package screens

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// oldestTx reads the oldest jobs in a status after a place.
func oldestTx(ctx context.Context, tx db.Tx, workspace ids.ID, status jobs.Status, at cursor, limit int) ([]Handed, error) {
	rows, err := q.ReviewQueue(ctx, tx, dbsqlc.ReviewQueueParams{WorkspaceID: workspace, Status: string(status),
		AfterAt: at.at, AfterID: at.id, MaxResult: maxListedResult, MaxRows: limit})
	if err != nil {
		return nil, err
	}
	list := make([]Handed, 0, len(rows))
	for _, r := range rows {
		list = append(list, Handed{ID: r.ID, Key: r.Key, Title: r.Title, Repo: r.Repo, Product: r.Product, Priority: r.Priority,
			Status: jobs.Status(r.Status), Since: r.StatusAt, Agent: r.Agent, Result: r.Result,
			epoch: r.Epoch, isVerified: r.VerifyMode == jobs.VerifyByAgent})
	}
	return list, nil
}

// conversationTx reads the latest events of a job's conversation, with long values in
// their places.
func conversationTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) ([]eventlog.Event, error) {
	rows, err := q.JobTalk(ctx, tx, workspace, job, maxConversation)
	if err != nil {
		return nil, err
	}
	list := make([]eventlog.Event, 0, len(rows))
	for _, r := range rows {
		e := eventlog.Event{ID: r.ID, Type: eventlog.Type(r.Type), JobID: &job,
			Actor: tenancy.ParseActor(r.ActorKind, r.ActorID, r.Actor), At: r.At, Payload: r.Payload}
		if err := json.Unmarshal(r.Changes, &e.Changes); err != nil {
			return nil, fmt.Errorf("decode changes: %w", err)
		}
		var contents map[string]any
		if err := json.Unmarshal(r.Contents, &contents); err != nil {
			return nil, fmt.Errorf("decode contents: %w", err)
		}
		for i := range e.Changes {
			if long, ok := contents[e.Changes[i].NewSHA256]; ok {
				e.Changes[i].New = long
			}
		}
		list = append(list, e)
	}
	return list, nil
}
