// Package layout is what stands around the content of a page: the document, the
// shell with its navigation and dialogs, the frame of the settings, the page of
// a refused request, and the parts of a live message that every page takes.
package layout

import (
	"github.com/a-h/templ"

	"github.com/fleetboard/fleetboard/static"
	"github.com/fleetboard/fleetboard/views/ui"
)

// product is the product's name.
const product = "Fleetboard"

// DocTitle returns the document's title: "(4) Board (9 running) · Kestrel Labs · Fleetboard",
// with what waits for a person in front. static/js/needs.js keeps that number.
func (s Shell) DocTitle() string {
	title := docTitle(s.Title, s.Workspace)
	if s.Needs != "" {
		title = "(" + ui.Clean(s.Needs) + ") " + title
	}
	return title
}

// tabIcon returns the icon of the tab: with a dot where something waits for a person.
func tabIcon(needs string) string {
	if needs == "" {
		return static.URL("mark.svg")
	}
	return static.URL("mark-needed.svg")
}

func docTitle(title, workspace string) string {
	out := ui.Clean(title)
	if workspace != "" {
		out += " · " + ui.Clean(workspace)
	}
	return out + " · " + product
}

// themeAttrs writes data-theme only for a chosen theme.
func themeAttrs(t Theme) templ.Attributes {
	if a := t.Attr(); a != "" {
		return templ.Attributes{"data-theme": a}
	}
	return nil
}

func themeIcon(t Theme) string {
	switch t {
	case ThemeLight:
		return "sun"
	case ThemeDark:
		return "moon"
	default:
		return "monitor-smartphone"
	}
}

// pageScripts lists a page's scripts in their order: htmx comes last, because
// it opens the stream at once and our modules must get that event. Its extensions
// need it.
func pageScripts(own []string) []string {
	out := []string{"js/app.js", "js/workspace.js"}
	for _, name := range own {
		if name == "js/board.js" {
			out = append(out, "vendor/sortablejs-1.15.7/Sortable.min.js")
		}
		out = append(out, name)
	}
	return append(out, "vendor/htmx.org-4.0.1/htmx.min.js", "vendor/htmx.org-4.0.1/hx-sse.min.js", "js/cards.js")
}
