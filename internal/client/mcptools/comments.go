package mcptools

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fleetboard/fleetboard/api"
)

// Reviewed is a Handler whose job came with comments on its work.
type Reviewed interface {
	// CountComments returns how many there are; without any there is no tool for them.
	CountComments() int
	// Resolve keeps what the agent answers to a comment. What it answers later takes its place.
	Resolve(ctx context.Context, a CommentAnswer) (left int, err error)
}

// CommentAnswer is what the agent says to a comment.
type CommentAnswer struct {
	ID   string `json:"id" jsonschema:"the id of the comment"`
	Note string `json:"note" jsonschema:"what you did about it, or why nothing is to be done"`
}

// addComments adds the tool by which comments are answered, where there are some.
func addComments(s *mcp.Server, h Handler, said func(text string) *mcp.CallToolResult) {
	r, ok := h.(Reviewed)
	if !ok || r.CountComments() == 0 {
		return
	}
	mcp.AddTool(
		s,
		&mcp.Tool{
			Name: "resolve_comment",
			Description: "Answer a comment that a reviewer left on a line of the work: what you did about it, or why " +
				"nothing is to be done. Answer every comment before you end your turn.",
		},
		func(ctx context.Context, _ *mcp.CallToolRequest, a CommentAnswer) (*mcp.CallToolResult, any, error) {
			if n := utf8.RuneCountInString(a.Note); n == 0 || n > api.MaxCommentAnswerNote {
				return nil, nil, fmt.Errorf("note must have 1 to %d characters", api.MaxCommentAnswerNote)
			}
			left, err := r.Resolve(ctx, a)
			if left == 0 {
				return said("Answered. No comment is left without an answer."), nil, err
			}
			return said(fmt.Sprintf("Answered. Comments without an answer: %d.", left)), nil, err
		},
	)
}
