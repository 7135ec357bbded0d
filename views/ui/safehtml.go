package ui

import (
	"context"
	"io"
)

// SafeHTML is markup that may be written to a page as it is. Only Markdown
// makes it, so its content has always passed the sanitiser. It is a
// templ.Component.
type SafeHTML struct{ html string }

// Empty says that there is nothing to show.
func (h SafeHTML) Empty() bool { return h.html == "" }

// Render writes the sanitised markup.
func (h SafeHTML) Render(_ context.Context, w io.Writer) error {
	_, err := io.WriteString(w, h.html)
	return err
}
