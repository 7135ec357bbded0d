package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/mcptools"
)

// listComments says what reviewers wrote to lines of the work. It is marked as theirs: each line of it begins with a mark
// that none of their text can leave out.
func listComments(b *strings.Builder, j api.Job, tools bool) {
	list := carriedBy(j)
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\nReviewers left comments on the work so far: %d. What they wrote stands behind \">\".", len(list))
	if tools {
		b.WriteString(" Answer each one with the tool resolve_comment before you end your turn: its id, and what you did about it or why " +
			"nothing is to be done.")
	}
	b.WriteString("\n")
	for i, c := range list {
		fmt.Fprintf(b, "\nComment %d of %d, id %s, on %s", i+1, len(list), c.ID, quotePlace(c))
		if c.Outdated {
			fmt.Fprintf(b, " of %s (the line is not there any more)", oneLine(c.Commit))
		}
		fmt.Fprintf(b, ", by %s:\n", oneLine(c.Author))
		if c.LineText != "" {
			fmt.Fprintf(b, "| %s\n", oneLine(c.LineText))
		}
		quote(b, c.Text)
		for _, r := range c.Replies {
			fmt.Fprintf(b, "%s replied:\n", oneLine(r.Author))
			quote(b, r.Text)
		}
	}
}

// quotePlace names a line: "a.go:12", "a.go" for the whole file, "a.go:12 as it was before" for a removed one.
func quotePlace(c api.FeedbackComment) string {
	place := oneLine(c.Path)
	if c.Line > 0 {
		place += fmt.Sprintf(":%d", c.Line)
	}
	if c.Side == "old" {
		place += " as it was before"
	}
	return place
}

func quote(b *strings.Builder, text string) {
	for _, line := range strings.FieldsFunc(text, isLineBreak) {
		fmt.Fprintf(b, "> %s\n", line)
	}
}

func oneLine(text string) string { return strings.Join(strings.FieldsFunc(text, isLineBreak), " ") }

// isLineBreak reports whether text goes on in another line behind a character.
func isLineBreak(r rune) bool {
	return r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029'
}

// CountComments returns how many comments the job came with.
func (a tools) CountComments() int { return len(carriedBy(a.job)) }

// Resolve keeps an answer until the work is handed in.
func (a tools) Resolve(_ context.Context, answer mcptools.CommentAnswer) (left int, err error) {
	list := carriedBy(a.job)
	if !slices.ContainsFunc(list, func(c api.FeedbackComment) bool { return c.ID == answer.ID }) {
		return len(list), errors.New("there is no comment with this id; those of the job stand in its order")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	note := a.reporter.secret.Cut(plainText(answer.Note), api.MaxCommentAnswerNote)
	a.answers = slices.DeleteFunc(a.answers, func(before api.CommentAnswer) bool { return before.ID == answer.ID })
	a.answers = append(a.answers, api.CommentAnswer{ID: answer.ID, Note: note})
	return len(list) - len(a.answers), nil
}

// answerComments returns what the agent answered to comments, nil where it answered none.
func (a *attempt) answerComments() *[]api.CommentAnswer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.answers) == 0 {
		return nil
	}
	return new(slices.Clone(a.answers))
}

// carriedBy returns the comments that a job came with.
func carriedBy(j api.Job) []api.FeedbackComment {
	if j.FeedbackComments == nil {
		return nil
	}
	return *j.FeedbackComments
}
