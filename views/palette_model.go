package views

import "fleetboard/views/ui"

// Palette is the answer to a search in the command palette.
type Palette struct {
	Query  string
	Groups []PaletteGroup
}

// PaletteGroup is a heading with rows.
type PaletteGroup struct {
	Title string // "Jobs", "Go to"
	Rows  []PaletteRow
}

// PaletteRow goes to a page.
type PaletteRow struct {
	URL     string
	Icon    string    // "" with a Status
	Status  ui.Status // glyph of a job
	Percent int
	Key     string // of a job
	Text    string
	Note    string // at the right: "claude-2 · mac-1"
	Keys    []string
}
