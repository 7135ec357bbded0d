package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/comments"
	"github.com/fleetboard/fleetboard/internal/jobs/patches"
)

// maxReplies is how many replies of a thread go with a job to its agent: the last ones.
const maxReplies = 3

// commentHandlers answer what people say about lines of work.
type commentHandlers struct{ *Deps }

// ListComments gives a page of the comments on a job, oldest first.
func (s *commentHandlers) ListComments(ctx context.Context, r ListCommentsRequestObject) (ListCommentsResponseObject, error) {
	all, err := s.Comments.List(ctx, principal(ctx), r.Job)
	if err != nil {
		return nil, err
	}
	resolved := map[ids.ID]bool{}
	for _, c := range all {
		resolved[c.ID] = c.ResolvedAt != nil
	}
	shown, next, err := page(all, r.Params.Cursor, r.Params.Limit, func(c comments.Comment) string { return c.ID.String() },
		func(c comments.Comment, last string) bool { return c.ID.String() > last })
	return ListComments200JSONResponse{NextCursor: next, Items: mapSlice(shown, func(c comments.Comment) Comment {
		return commentModel(c, resolved[c.Thread])
	})}, err
}

// AddComment comments on a line, or replies.
func (s *commentHandlers) AddComment(ctx context.Context, r AddCommentRequestObject) (AddCommentResponseObject, error) {
	n := comments.New{Commit: value(r.Body.Commit), Text: r.Body.Text,
		Place: patches.Place{Path: value(r.Body.Path), Side: patches.New, Line: value(r.Body.Line)}}
	if r.Body.Side != nil {
		n.Place.Side = patches.Side(*r.Body.Side)
	}
	if to := value(r.Body.InReplyTo); to != "" {
		var ok bool
		if n.InReplyTo, ok = ids.Parse(to); !ok {
			return nil, fault.Invalid("in_reply_to", "It must be the id of a comment.")
		}
	}
	c, err := s.Comments.Add(ctx, principal(ctx), r.Job, n, callFrom(ctx).once)
	return AddComment201JSONResponse(commentModel(c, c.ResolvedAt != nil)), err
}

// EditComment changes a comment.
func (s *commentHandlers) EditComment(ctx context.Context, r EditCommentRequestObject) (EditCommentResponseObject, error) {
	c, err := s.Comments.Edit(ctx, principal(ctx), r.Comment, comments.Edit{Text: r.Body.Text, Resolved: r.Body.Resolved})
	return EditComment200JSONResponse(commentModel(c, c.ResolvedAt != nil)), err
}

func commentModel(c comments.Comment, resolved bool) Comment {
	m := Comment{ID: c.ID, Attempt: c.Epoch, Commit: c.Commit, Path: c.Place.Path, Line: c.Place.Line, Side: string(c.Place.Side),
		LineText: c.LineText, Text: c.Text, Author: c.Author.Name, AuthorKind: string(c.Author.Kind), CreatedAt: c.At.UTC(),
		EditedAt: utcOrNil(c.EditedAt), Resolved: resolved, ResolvedAt: utcOrNil(c.ResolvedAt), ResolvedBy: c.ResolvedBy.Name,
		Outdated: c.Position == nil}
	if !c.IsFirst() {
		m.InReplyTo = &c.Thread
	}
	if p := c.Position; p != nil {
		m.Position = &CommentPosition{Commit: p.Commit, Path: p.Place.Path, Line: p.Place.Line}
	}
	return m
}

// carryComments adds to claimed jobs the comments on their work that are not resolved.
func (d *Deps) carryComments(ctx context.Context, claimed []jobs.Job, models []Job) error {
	if len(claimed) == 0 || d.Comments == nil {
		return nil
	}
	by, err := d.Comments.Carried(ctx, principal(ctx).Workspace, claimed...)
	for i, j := range claimed {
		if list := by[j.ID]; len(list) > 0 {
			models[i].FeedbackComments = feedbackModel(list)
		}
	}
	return err
}

// feedbackModel returns threads as the agent gets them: each with its place in what was handed in last, where it is
// there.
func feedbackModel(list []comments.Comment) (models []FeedbackComment) {
	at := map[ids.ID]int{}
	for _, c := range list {
		if c.IsFirst() {
			at[c.ID] = len(models)
			m := FeedbackComment{ID: c.ID.String(), Commit: c.Commit, Path: c.Place.Path, Line: c.Place.Line, Side: string(c.Place.Side),
				LineText: c.LineText, Outdated: c.Position == nil, Author: c.Author.Name, Text: c.Text, Replies: []CommentReply{}}
			if p := c.Position; p != nil {
				m.Commit, m.Path, m.Line = p.Commit, p.Place.Path, p.Place.Line
			}
			models = append(models, m)
			continue
		}
		if i, ok := at[c.Thread]; ok {
			r := &models[i].Replies
			*r = append(*r, CommentReply{Author: c.Author.Name, Text: c.Text})
			*r = (*r)[max(0, len(*r)-maxReplies):]
		}
	}
	return models
}

// toAnswers returns what an agent answers to comments.
func toAnswers(in []CommentAnswer) []comments.Answer {
	return mapSlice(in, func(a CommentAnswer) comments.Answer { return comments.Answer(a) })
}
