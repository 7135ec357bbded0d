package comments

import (
	"context"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Edit changes the text of a comment, which only its author may, and resolves its thread or opens it again. What is so
// already stays as it is. Faults: Forbidden; NotFound; Validation, also for a reply that is to be resolved.
func (s *Service) Edit(ctx context.Context, who tenancy.Principal, id string, e Edit) (Comment, error) {
	if err := requireWriter(who); err != nil {
		return Comment{}, err
	}
	p := fault.Problems{}
	if e.Text != nil {
		checkText(p, "text", *e.Text)
	}
	if e.Text == nil && e.Resolved == nil {
		p.Add("text", "There must be text or resolved.")
	}
	if err := p.Err(); err != nil {
		return Comment{}, err
	}
	named, ok := ids.Parse(id)
	if !ok {
		return Comment{}, notFound()
	}
	var job ids.ID
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		c, err := getTx(ctx, tx, who.Workspace, named)
		job = c.Job
		return err
	})
	if err != nil {
		return Comment{}, err
	}
	var c Comment
	_, err = s.jobs.Change(ctx, who, func(tx db.Tx) (jobs.Job, error) {
		locked, err := jobs.LockTx(ctx, tx, who.Workspace, job.String())
		if err == nil {
			c, err = changeTx(ctx, tx, who, locked.Job, named, e)
		}
		return locked.Job, err
	})
	if err != nil {
		return Comment{}, err
	}
	return c, s.placeOne(ctx, who, &c)
}

// changeTx changes a comment on a locked job.
func changeTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Job, id ids.ID, e Edit) (Comment, error) {
	c, err := getTx(ctx, tx, who.Workspace, id)
	if err != nil {
		return c, err
	}
	if e.Text != nil && *e.Text != c.Text {
		if !c.Author.Is(who.Actor()) {
			return c, fault.New(fault.Forbidden, "Only %s may change this comment.", c.Author.Name)
		}
		if c, err = editTx(ctx, tx, who.Workspace, id, *e.Text); err != nil {
			return c, err
		}
		if err := appendTx(ctx, tx, who, eventlog.JobCommentEdited, c); err != nil {
			return c, err
		}
	}
	if e.Resolved == nil || *e.Resolved == (c.ResolvedAt != nil) && c.IsFirst() {
		return c, nil
	}
	if !c.IsFirst() {
		return c, fault.Invalid("resolved", "Only the first comment of a thread is resolved.")
	}
	return resolveThreadTx(ctx, tx, who, job, c, *e.Resolved)
}

// resolveThreadTx resolves a thread, or opens it again.
func resolveThreadTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Job, c Comment, resolved bool) (Comment, error) {
	kind, by := eventlog.JobCommentResolved, who.Actor()
	if !resolved {
		kind, by = eventlog.JobCommentReopened, tenancy.Actor{}
		if job.CommentsOpen >= MaxOpen {
			return c, fault.Invalid("resolved", "%d comments on the job are not resolved; resolve some first.", job.CommentsOpen)
		}
	}
	c, err := resolveTx(ctx, tx, who.Workspace, c.ID, by)
	if err != nil {
		return c, err
	}
	return c, appendTx(ctx, tx, who, kind, c)
}

// cleanText returns text that PostgreSQL can hold.
func cleanText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
