package comments

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func field(i int, name string) string { return "comments[" + strconv.Itoa(i) + "]." + name }

// AnswerTx keeps what an agent answers to the comments on its locked job with the work that it hands in: each answer
// is a reply, and resolves its thread. One that a person has resolved meanwhile stays so. Nothing is written where one of
// them is refused: CommentUnknown; CommentElsewhere, of another job; CommentAnswered, by an agent before; each
// with the detail "comment".
func AnswerTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Job, answers []Answer) error {
	if len(answers) == 0 {
		return nil
	}
	threads := make([]Comment, len(answers))
	for i, a := range answers {
		thread, err := answeredTx(ctx, tx, who, job, a)
		if err != nil {
			return err
		}
		threads[i] = thread
	}
	known, err := q.CommentCount(ctx, tx, who.Workspace, job.ID)
	if err != nil {
		return err
	}
	named := make([]string, len(answers))
	for i, a := range answers {
		named[i] = a.ID
		if err := answerTx(ctx, tx, who, job, threads[i], a, int(known.AllComments)+i < 2*MaxOfJob); err != nil {
			return err
		}
	}
	facts, err := json.Marshal(map[string]any{"comments": named, "count": len(named)})
	if err != nil {
		return fmt.Errorf("encode answers: %w", err)
	}
	return eventlog.AppendTx(ctx, tx, who.Workspace, eventlog.Event{Type: eventlog.JobCommentsAnswered, JobID: &job.ID, Actor: who.Actor(),
		Epoch: &job.Epoch, Payload: facts})
}

// answeredTx reads the thread that an answer is for, and refuses one that is not to be answered.
func answeredTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Job, a Answer) (Comment, error) {
	id, _ := ids.Parse(a.ID) // it was checked
	thread, err := getTx(ctx, tx, who.Workspace, id)
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && !thread.IsFirst():
		return thread, fault.New(fault.CommentUnknown, "There is no comment %s.", a.ID).With("comment", a.ID)
	case err != nil:
		return thread, err
	case thread.Job != job.ID:
		return thread, fault.New(fault.CommentElsewhere, "The comment %s is about another job.", a.ID).With("comment", a.ID)
	case thread.ResolvedAt != nil && thread.ResolvedBy.Kind == tenancy.KindAgent:
		return thread, fault.New(fault.CommentAnswered, "The comment %s has been answered, and nobody has opened it again.", a.ID).
			With("comment", a.ID)
	}
	return thread, nil
}

// answerTx writes one answer. Where a job has more comments than anybody reads, only that it was answered.
func answerTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job jobs.Job, thread Comment, a Answer, kept bool) error {
	reply := thread
	reply.ID, reply.Epoch, reply.Text, reply.Author = ids.New(), job.Epoch, a.Note, who.Actor()
	if kept {
		if _, err := insertTx(ctx, tx, who.Workspace, reply); err != nil {
			return err
		}
	}
	if thread.ResolvedAt != nil {
		return nil
	}
	_, err := resolveTx(ctx, tx, who.Workspace, thread.ID, who.Actor())
	return err
}
