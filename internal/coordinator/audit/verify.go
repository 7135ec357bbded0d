package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
)

// verifyPage is how many jobs Verify reads with their events in a statement.
const verifyPage = 50

// Verify replays every job of every workspace from its events and compares what
// they lead to with what is stored. An error means that it could not look at
// all of them; the report then holds what it saw.
func Verify(ctx context.Context, d *db.DB) (Report, error) {
	r := Report{Checks: []Check{
		{Name: "history", About: "each event of a job follows from those before it"},
		{Name: "state", About: "a job is what its events lead to"},
	}}
	err := r.walk(ctx, d, verifyPage, func(ctx context.Context, tx db.Tx, w dbsqlc.AuditWorkspacesRow, after ids.ID) (int, ids.ID, error) {
		rows, err := q.AuditHistories(ctx, tx, dbsqlc.AuditHistoriesParams{WorkspaceID: w.ID, After: after, MaxRows: verifyPage})
		for _, j := range rows {
			told, err := replay(j.Events)
			if err != nil {
				r.note("history", w.Slug, j.Key, err.Error())
			} else {
				r.note("state", w.Slug, j.Key, differences(stored(j), told))
			}
			after = j.ID
		}
		return len(rows), after, err
	})
	return r, err
}

func replay(raw []byte) (jobs.State, error) {
	var events []eventlog.Event
	if err := json.Unmarshal(raw, &events); err != nil {
		return jobs.State{}, fmt.Errorf("an event cannot be read: %w", err)
	}
	return jobs.Replay(events)
}

func differences(stored, told jobs.State) string {
	diff := stored.Diff(told)
	if len(diff) == 0 {
		return ""
	}
	return "the job and its events differ: " + strings.Join(diff, "; ")
}

func stored(j dbsqlc.AuditHistoriesRow) jobs.State {
	return jobs.State{
		Status: jobs.Status(j.Status), WaitReason: jobs.WaitReason(j.WaitReason), BlockedReason: j.BlockedReason,
		Question: j.Question, Answer: j.Answer, Title: j.Title, Phase: j.Phase, Priority: int(j.Priority),
		Factory: j.Factory, Repo: j.Repo, Product: j.Product, Capabilities: j.Capabilities, Tags: j.Tags,
		FailureCount: int(j.FailureCount), LostCount: int(j.LostCount), Feedback: j.Feedback, NotBefore: j.NotBefore,
		Epoch: j.Epoch, Attempts: int(j.Attempts),
	}
}
