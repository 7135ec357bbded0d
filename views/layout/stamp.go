package layout

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/a-h/templ"
)

// How a page says in which workspace it was made. handlers/workspace_guard.go
// reads it.
const (
	// WorkspaceHeader is in the requests of htmx.
	WorkspaceHeader = "X-Workspace"
	// WorkspaceField is in plain forms.
	WorkspaceField = "in_workspace"
)

// inWorkspaceAttrs are for htmx, js/workspace.js and js/drafts.js.
func inWorkspaceAttrs(s Shell) templ.Attributes {
	if s.WorkspaceID == "" {
		return nil
	}
	headers, err := json.Marshal(map[string]string{WorkspaceHeader: s.WorkspaceID})
	if err != nil {
		return nil // strings always encode
	}
	return templ.Attributes{"data-workspace": s.WorkspaceID, "data-account": s.AccountID, "hx-headers:inherited": string(headers)}
}

// madeIn puts the workspace's id into every posted form of its children, so that
// no form can be forgotten and none needs a script for it.
func madeIn(workspace string) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		children := templ.GetChildren(ctx)
		ctx = templ.ClearChildren(ctx)
		if workspace == "" {
			return children.Render(ctx, w)
		}
		var page bytes.Buffer
		if err := children.Render(ctx, &page); err != nil {
			return err
		}
		return stamp(w, page.Bytes(), workspace)
	})
}

// stamp copies a page and adds a hidden field behind the opening tag of each
// form that posts. Text and values of attributes are escaped, so "<form" is a
// tag of ours and the next ">" its end.
func stamp(w io.Writer, page []byte, workspace string) error {
	field := []byte(`<input type="hidden" name="` + WorkspaceField + `" value="` + templ.EscapeString(workspace) + `">`)
	for {
		at := bytes.Index(page, []byte("<form"))
		if at < 0 {
			break
		}
		end := at + bytes.IndexByte(page[at:], '>') + 1
		if _, err := w.Write(page[:end]); err != nil {
			return err
		}
		if bytes.Contains(page[at:end], []byte(`method="post"`)) {
			if _, err := w.Write(field); err != nil {
				return err
			}
		}
		page = page[end:]
	}
	_, err := w.Write(page)
	return err
}
