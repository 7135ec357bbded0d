package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// record is what the database knows of a job.
type record struct {
	ID, Key, Title, Repo, Status string
	Epoch                        int64

	attempts map[int64]attempt
	events   []event
}

type attempt struct {
	JobID, Agent, Outcome string
	Epoch                 int64
	ClaimedAt             time.Time
	EndedAt               *time.Time
}

type event struct {
	JobID, Type, Actor, ActorKind string
	ID, Epoch                     int64
	At                            time.Time
	Changes                       json.RawMessage
}

// status returns the change of status that an event made, if it made one.
func (e event) status() (from, to string, ok bool) {
	var changes []struct {
		Field string `json:"field"`
		Old   any    `json:"old"`
		New   any    `json:"new"`
	}
	if json.Unmarshal(e.Changes, &changes) != nil {
		return "", "", false
	}
	for _, c := range changes {
		if c.Field == "status" {
			from, _ = c.Old.(string)
			to, _ = c.New.(string)
			return from, to, true
		}
	}
	return "", "", false
}

// history returns a job's life for a message.
func (r record) history() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s) is %s, epoch %d", r.Key, r.Title, r.Status, r.Epoch)
	for _, e := range r.events {
		from, to, _ := e.status()
		fmt.Fprintf(&b, "\n\t%d %s %s epoch %d by %s %s %s>%s", e.ID, e.At.Format("15:04:05.000"), e.Type, e.Epoch, e.ActorKind, e.Actor, from, to)
	}
	return b.String()
}

// readRecords reads all jobs with their events, in the order in which these were
// written, and their attempts, as they are at one moment.
func readRecords(ctx context.Context, conn *pgx.Conn) (map[string]*record, error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("begin to read: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // nothing was written
	rows, _ := tx.Query(ctx, `SELECT id::text, key, title, repo, status, epoch FROM job`)
	jobs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct {
		ID, Key, Title, Repo, Status string
		Epoch                        int64
	}])
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", err)
	}
	byID, byKey := map[string]*record{}, map[string]*record{}
	for _, j := range jobs {
		r := &record{ID: j.ID, Key: j.Key, Title: j.Title, Repo: j.Repo, Status: j.Status, Epoch: j.Epoch, attempts: map[int64]attempt{}}
		byID[r.ID], byKey[r.Key] = r, r
	}
	rows, _ = tx.Query(ctx, `SELECT job_id::text, agent, outcome, epoch, claimed_at, ended_at FROM attempt`)
	attempts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[attempt])
	if err != nil {
		return nil, fmt.Errorf("read attempts: %w", err)
	}
	for _, a := range attempts {
		byID[a.JobID].attempts[a.Epoch] = a
	}
	rows, _ = tx.Query(ctx, `SELECT job_id::text, type, actor, actor_kind, id, coalesce(epoch, 0), at, changes
		FROM event WHERE job_id IS NOT NULL ORDER BY id`)
	events, err := pgx.CollectRows(rows, pgx.RowToStructByPos[event])
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	for _, e := range events {
		byID[e.JobID].events = append(byID[e.JobID].events, e)
	}
	return byKey, nil
}
