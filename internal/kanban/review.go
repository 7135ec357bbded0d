package kanban

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

const (
	// reviewCap is where counting the jobs in review ends: pages say "99+".
	reviewCap = 100
	// maxListedResult is the stored size of a result, in bytes, up to which a
	// list brings it.
	maxListedResult = 16 << 10
	// maxTalk is how many of the latest questions, answers and refusals of a job
	// are read.
	maxTalk = 20
)

// Handed is a job of the review page's lists.
type Handed struct {
	ID       ids.ID
	Key      string
	Title    string
	Repo     string
	Product  string
	Priority int
	Status   jobs.Status // in review or approved
	Since    time.Time
	Agent    string          // that handed it in
	Result   json.RawMessage // nil where there is none, or a large one
}

// ReviewQueue is one page of the jobs that wait for a decision, the oldest
// first, and on the first page those that wait for their merge.
type ReviewQueue struct {
	InReview []Handed
	Next     string // cursor of the next page, "" after the last one
	Approved []Handed
	More     bool // there are more approved jobs than listed
	Count    ReviewCount
}

// ReviewCount is how many jobs are in review.
type ReviewCount struct {
	Jobs   int
	Capped bool // there are more than Jobs
}

// ReviewQueue reads a page of the queue: the first where after is "", else the
// one after that cursor. Malformed for a cursor that this server did not give out.
func (s *Service) ReviewQueue(ctx context.Context, who tenancy.Principal, after string) (ReviewQueue, error) {
	var page ReviewQueue
	at, err := parseCursor(after)
	if err != nil {
		return page, err
	}
	err = s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) (err error) {
		if page.InReview, page.Next, err = handed(ctx, tx, who.Workspace, jobs.InReview, at); err != nil {
			return err
		}
		if at.start {
			var next string
			page.Approved, next, err = handed(ctx, tx, who.Workspace, jobs.Approved, at)
			page.More = next != ""
		}
		if err != nil {
			return err
		}
		page.Count, err = countReview(ctx, tx, who.Workspace)
		return err
	})
	return page, err
}

// handed reads the oldest jobs in a status after a place.
func handed(ctx context.Context, tx db.Tx, workspace ids.ID, status jobs.Status, at cursor) (list []Handed, next string, err error) {
	rows, err := q.ReviewQueue(ctx, tx, dbsqlc.ReviewQueueParams{WorkspaceID: workspace, Status: string(status),
		AfterAt: at.at, AfterID: at.id, MaxResult: maxListedResult, MaxRows: pageSize + 1})
	if err != nil {
		return nil, "", fmt.Errorf("review queue: %w", err)
	}
	for _, r := range rows[:min(len(rows), pageSize)] {
		list = append(list, Handed{ID: r.ID, Key: r.Key, Title: r.Title, Repo: r.Repo, Product: r.Product, Priority: int(r.Priority),
			Status: jobs.Status(r.Status), Since: r.StatusAt, Agent: r.Agent, Result: r.Result})
	}
	if len(rows) > pageSize {
		last := list[pageSize-1]
		next = cursorOf(jobs.Job{ID: last.ID, StatusAt: last.Since})
	}
	return list, next, nil
}

// ReviewCount counts the jobs in review, for the navigation of every page.
func (s *Service) ReviewCount(ctx context.Context, who tenancy.Principal) (ReviewCount, error) {
	var n ReviewCount
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) (err error) {
		n, err = countReview(ctx, tx, who.Workspace)
		return err
	})
	return n, err
}

func countReview(ctx context.Context, tx db.Tx, workspace ids.ID) (ReviewCount, error) {
	n, err := q.ReviewCount(ctx, tx, dbsqlc.ReviewCountParams{WorkspaceID: workspace, MaxRows: reviewCap})
	if err != nil {
		return ReviewCount{}, fmt.Errorf("count reviews: %w", err)
	}
	return ReviewCount{Jobs: min(int(n), reviewCap-1), Capped: n >= reviewCap}, nil
}

// Talk reads what agents and people last said to one another about a job:
// questions, answers, rejections and failed merges, newest first.
func (s *Service) Talk(ctx context.Context, who tenancy.Principal, job ids.ID) ([]eventlog.Event, error) {
	var list []eventlog.Event
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		rows, err := q.JobTalk(ctx, tx, dbsqlc.JobTalkParams{WorkspaceID: who.Workspace, JobID: job, MaxRows: maxTalk})
		if err != nil {
			return fmt.Errorf("talk: %w", err)
		}
		for _, r := range rows {
			e := eventlog.Event{ID: r.ID, Type: eventlog.Type(r.Type), JobID: &job,
				Actor: tenancy.ActorOf(r.ActorKind, r.ActorID, r.Actor), At: r.At, Payload: r.Payload}
			if err := json.Unmarshal(r.Changes, &e.Changes); err != nil {
				return fmt.Errorf("decode changes: %w", err)
			}
			var contents map[string]any
			if err := json.Unmarshal(r.Contents, &contents); err != nil {
				return fmt.Errorf("decode contents: %w", err)
			}
			for i := range e.Changes {
				if long, ok := contents[e.Changes[i].NewSHA256]; ok {
					e.Changes[i].New = long
				}
			}
			list = append(list, e)
		}
		return nil
	})
	return list, err
}
