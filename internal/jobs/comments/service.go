package comments

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/patches"
	"github.com/fleetboard/fleetboard/internal/redact"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Service keeps the comments.
type Service struct {
	db    *db.DB
	jobs  *jobs.Service
	blobs Blobs
	kept  *lru.Cache[patchKey, patches.Patch]
}

// NewService returns the comments kept in d, on work whose patches are in b.
func NewService(d *db.DB, list *jobs.Service, b Blobs) *Service {
	kept, err := lru.New[patchKey, patches.Patch](keptPatches)
	if err != nil {
		panic(err) // only of a size below one
	}
	return &Service{db: d, jobs: list, blobs: b, kept: kept}
}

// List reads all comments on a job in the order in which they were made, each with its position in what was handed in
// last. NotFound.
func (s *Service) List(ctx context.Context, who tenancy.Principal, keyOrID string) ([]Comment, error) {
	var job jobs.Job
	var all []Comment
	var list []handedIn
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		if job, err = jobs.LoadTx(ctx, tx, who.Workspace, keyOrID); err != nil {
			return err
		}
		if all, err = ofJobTx(ctx, tx, who.Workspace, job.ID); err != nil || len(all) == 0 {
			return err
		}
		list, err = attemptsTx(ctx, tx, who.Workspace, job.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, s.place(ctx, who.Workspace, job.ID, list, all)
}

// Carried reads what goes with jobs to their agents: the threads that are not resolved, with their replies and positions,
// by job.
func (s *Service) Carried(ctx context.Context, workspace ids.ID, of ...jobs.Job) (map[ids.ID][]Comment, error) {
	var asked []ids.ID
	for _, j := range of {
		if j.CommentsOpen > 0 {
			asked = append(asked, j.ID)
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	by, attempts := map[ids.ID][]Comment{}, map[ids.ID][]handedIn{}
	err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		all, err := openTx(ctx, tx, workspace, asked)
		if err != nil {
			return err
		}
		for _, c := range all {
			by[c.Job] = append(by[c.Job], c)
		}
		for job := range by {
			if attempts[job], err = attemptsTx(ctx, tx, workspace, job); err != nil {
				return err
			}
		}
		return nil
	})
	for job, list := range by {
		if err == nil {
			err = s.place(ctx, workspace, job, attempts[job], list)
		}
	}
	return by, err
}

// Add makes a comment, or a reply. Faults: Forbidden; NotFound; Validation, also where the commit was not handed in or
// does not change that file, and where there are too many.
func (s *Service) Add(ctx context.Context, who tenancy.Principal, keyOrID string, n New, once *idempotency.Key) (Comment, error) {
	if err := requireWriter(who); err != nil {
		return Comment{}, err
	}
	if err := n.check(); err != nil {
		return Comment{}, err
	}
	lineText, err := s.checkPlace(ctx, who, keyOrID, n)
	if err != nil {
		return Comment{}, err
	}
	var made Comment
	_, err = s.jobs.Change(ctx, who, func(tx db.Tx) (jobs.Job, error) {
		locked, err := jobs.LockTx(ctx, tx, who.Workspace, keyOrID)
		if err != nil {
			return jobs.Job{}, err
		}
		id, err := idempotency.OnceTx(ctx, tx, who, once, func() (ids.ID, error) {
			c, err := addTx(ctx, tx, who, locked.Job, n, lineText)
			return c.ID, err
		})
		if err == nil {
			made, err = getTx(ctx, tx, who.Workspace, id)
		}
		return locked.Job, err
	})
	if err != nil {
		return Comment{}, err
	}
	return made, s.placeOne(ctx, who, &made)
}

func requireWriter(who tenancy.Principal) error {
	if who.Kind != tenancy.KindPerson || !who.Can(tenancy.WriteJobs) {
		return fault.New(fault.Forbidden, "Your role does not allow commenting on work.")
	}
	return nil
}

// checkPlace refuses a place that the commit does not have, as far as its patch shows that, and returns what stands there.
func (s *Service) checkPlace(ctx context.Context, who tenancy.Principal, keyOrID string, n New) (lineText string, err error) {
	if n.InReplyTo != ids.Nil {
		return "", nil
	}
	var job jobs.Job
	var list []handedIn
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		if job, err = jobs.LoadTx(ctx, tx, who.Workspace, keyOrID); err == nil {
			list, err = attemptsTx(ctx, tx, who.Workspace, job.ID)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(list, func(h handedIn) bool { return h.commit == n.Commit })
	if at < 0 {
		return "", fault.Invalid("commit", "It must be a commit that was handed in.")
	}
	patch, err := s.readPatch(ctx, who.Workspace, job.ID, list[at])
	if err != nil || len(patch.Files) == 0 {
		return "", err
	}
	file, known := patch.Find(n.Place.Path, n.Place.Side)
	isWhole := !slices.ContainsFunc(patch.Files, func(f patches.File) bool { return f.Broken })
	if !known && isWhole {
		return "", fault.Invalid("path", "It must be a file that the commit changes.")
	}
	text, shown := file.Text(n.Place.Side, n.Place.Line)
	if isNew := file.Old == "" || file.New == ""; known && isNew && !file.Broken && !shown && n.Place.Line > 0 {
		return "", fault.Invalid("line", "It must be a line that the file has.")
	}
	return redact.Cut(cleanText(text), MaxLineText), nil
}

// addTx makes a comment on a locked job.
func addTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Job, n New, lineText string) (Comment, error) {
	c := Comment{ID: ids.New(), Job: job.ID, Commit: n.Commit, Place: n.Place, LineText: lineText, Text: n.Text, Author: who.Actor()}
	c.Thread = c.ID
	if n.InReplyTo != ids.Nil {
		thread, err := threadTx(ctx, tx, who, job, n.InReplyTo)
		if err != nil {
			return c, err
		}
		c.Thread, c.Commit, c.Place, c.LineText, c.Epoch = thread.Thread, thread.Commit, thread.Place, thread.LineText, thread.Epoch
	} else {
		list, err := attemptsTx(ctx, tx, who.Workspace, job.ID)
		if err != nil {
			return c, err
		}
		at := slices.IndexFunc(list, func(h handedIn) bool { return h.commit == n.Commit })
		if at < 0 {
			return c, fault.Invalid("commit", "It must be a commit that was handed in.")
		}
		c.Epoch = list[at].epoch
	}
	known, err := q.CommentCount(ctx, tx, who.Workspace, job.ID)
	switch {
	case err != nil:
		return c, err
	case known.AllComments >= MaxOfJob:
		return c, fault.Invalid("text", "There are %d comments on the job; more are not taken.", known.AllComments)
	case c.IsFirst() && known.OpenThreads >= MaxOpen:
		return c, fault.Invalid("text", "%d comments on the job are not resolved; resolve some first.", known.OpenThreads)
	}
	if c, err = insertTx(ctx, tx, who.Workspace, c); err != nil {
		return c, err
	}
	return c, appendTx(ctx, tx, who, eventlog.JobCommented, c)
}

// threadTx reads what is replied to.
func threadTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Job, id ids.ID) (Comment, error) {
	c, err := getTx(ctx, tx, who.Workspace, id)
	if fault.Is(err, fault.NotFound) || err == nil && c.Job != job.ID {
		return c, fault.Invalid("in_reply_to", "It must be a comment on this job.")
	}
	return c, err
}

// appendTx records what happened to a comment.
func appendTx(ctx context.Context, tx db.Tx, who tenancy.Principal, kind eventlog.Type, c Comment) error {
	said := map[string]any{"comment": c.ID, "path": c.Place.Path, "line": c.Place.Line, "side": c.Place.Side, "commit": c.Commit}
	if !c.IsFirst() {
		said["in_reply_to"] = c.Thread
	}
	facts, err := json.Marshal(said)
	if err != nil {
		return fmt.Errorf("encode a comment: %w", err)
	}
	return eventlog.AppendTx(ctx, tx, who.Workspace, eventlog.Event{Type: kind, JobID: &c.Job, Actor: who.Actor(), Payload: facts})
}

// placeOne works out the position of one comment.
func (s *Service) placeOne(ctx context.Context, who tenancy.Principal, c *Comment) error {
	var list []handedIn
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = attemptsTx(ctx, tx, who.Workspace, c.Job)
		return err
	})
	if err != nil {
		return err
	}
	one := []Comment{*c}
	err = s.place(ctx, who.Workspace, c.Job, list, one)
	*c = one[0]
	return err
}
