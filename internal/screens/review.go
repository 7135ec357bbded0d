package screens

import (
	"context"
	"encoding/json"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// maxListedResult is the stored size of a result, in bytes, up to which a
	// list brings it.
	maxListedResult = 16 << 10
	// maxConversation is how many of the latest questions, answers and refusals of a job
	// are read.
	maxConversation = 20
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
	Verified *Progress       // how far the verification of the work is, nil where there is none

	epoch      int64
	isVerified bool // in its product
}

// ReviewQueue is one page of the jobs that wait for a decision, the oldest
// first, and on the first page those that wait for their merge.
type ReviewQueue struct {
	InReview []Handed // that wait for a person
	Verified []Handed // that are verified first, unless a person does not wait for that
	Next     string   // cursor of the next page, "" after the last one
	Approved []Handed
	More     bool  // there are more approved jobs than listed
	Count    Count // of those that wait for a person
}

// ReviewQueue reads a page of the queue: the first where after is "", else the
// one after that cursor. Malformed for a cursor that this server did not give out.
func (s *Service) ReviewQueue(ctx context.Context, who tenancy.Principal, after string) (ReviewQueue, error) {
	var page ReviewQueue
	at, err := parseCursor(after)
	if err != nil {
		return page, err
	}
	snap, err := s.Fleet(ctx, who)
	if err != nil {
		return page, err
	}
	err = s.snapshot(ctx, who.Workspace, func(tx db.Tx) (err error) {
		r := verifications{&reader{ctx: ctx, tx: tx, workspace: who.Workspace, snap: snap}}
		var all []Handed
		if all, page.Next, err = handed(ctx, tx, who.Workspace, jobs.InReview, at); err != nil {
			return err
		}
		if page.InReview, page.Verified, err = r.splitVerified(all); err != nil {
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
		n, err := r.jobNeeds()
		page.Count = n.Reviews
		return err
	})
	return page, err
}

// handed reads the oldest jobs in a status after a place.
func handed(ctx context.Context, tx db.Tx, workspace ids.ID, status jobs.Status, at cursor) (list []Handed, next string, err error) {
	list, err = oldestTx(ctx, tx, workspace, status, at, PageSize+1)
	if err != nil {
		return nil, "", err
	}
	if len(list) > PageSize {
		list = list[:PageSize]
		last := list[PageSize-1]
		next = makeCursor(jobs.Job{ID: last.ID, StatusAt: last.Since})
	}
	return list, next, nil
}

// splitVerified takes those out of the jobs in review that somebody verifies, or may.
func (r verifications) splitVerified(all []Handed) (waiting, verified []Handed, err error) {
	var found []ids.ID
	var epochs []int64
	for _, h := range all {
		if h.isVerified {
			found, epochs = append(found, h.ID), append(epochs, h.epoch)
		}
	}
	known, err := r.readProgress(found, epochs)
	for _, h := range all {
		p, has := known[h.ID]
		if has {
			h.Verified = &p
		}
		if has && p.IsOpen() {
			verified = append(verified, h)
		} else {
			waiting = append(waiting, h)
		}
	}
	return waiting, verified, err
}

// Conversation reads what agents and people last said to one another about a job:
// questions, answers, rejections and failed merges, newest first.
func (s *Service) Conversation(ctx context.Context, who tenancy.Principal, job ids.ID) ([]eventlog.Event, error) {
	var list []eventlog.Event
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) (err error) {
		list, err = conversationTx(ctx, tx, who.Workspace, job)
		return err
	})
	return list, err
}
