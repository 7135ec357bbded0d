package live

import (
	"context"

	"github.com/a-h/templ"
)

// Diff is a part of a page that can leave out what a reader has already: a column
// whose cards did not change. Its Render calls DiffOnly.
type Diff interface {
	templ.Component
	// Column names it: a reader who was sent a column of that name gets the diff.
	Column() string
}

type diffOnly struct{}

// WithDiffOnly makes parts leave out what a reader has.
func WithDiffOnly(ctx context.Context) context.Context {
	return context.WithValue(ctx, diffOnly{}, true)
}

// DiffOnly reports whether a part is rendered for readers who have its column.
func DiffOnly(ctx context.Context) bool { return ctx.Value(diffOnly{}) != nil }
