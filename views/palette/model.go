// Package palette shows what a search from any page finds.
package palette

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/fleetboard/fleetboard/views/ui"
)

// Results is the answer to a search in the command palette.
type Results struct {
	Query  string
	Groups []Group
}

// Group is a heading with rows.
type Group struct {
	Title string // "Jobs", "Go to"
	Rows  []Row
}

// Row goes to a page.
type Row struct {
	URL     string
	Icon    string    // "" with a Status
	Status  ui.Status // glyph of a job
	Percent int
	Key     string // of a job
	Text    string
	Note    string // at the right: "claude-2 · mac-1"
	Keys    []string
	// PostURL is where an action is sent that needs no confirmation, with its fields.
	PostURL string
	Fields  map[string]string
}

// posts returns the attributes of a row that acts at once.
func (r Row) posts() templ.Attributes {
	if r.PostURL == "" {
		return nil
	}
	fields, _ := json.Marshal(r.Fields) // strings always encode
	return templ.Attributes{"hx-post": r.PostURL, "hx-swap": "none", "hx-vals": string(fields)}
}

// textPart is a piece of a found text.
type textPart struct {
	text string
	hit  bool
}

// split marks the first place where the query stands in the text, whatever its
// case. Only queries in ASCII are marked, so that lengths agree.
func split(text, query string) []textPart {
	text = ui.Clean(text)
	query = strings.TrimSpace(query)
	at := -1
	if query != "" && isASCII(text) && isASCII(query) {
		at = strings.Index(strings.ToLower(text), strings.ToLower(query))
	}
	if at < 0 {
		return []textPart{{text: text}}
	}
	end := at + len(query)
	return []textPart{{text: text[:at]}, {text: text[at:end], hit: true}, {text: text[end:]}}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func rowID(group, row int) string {
	return "pal-" + strconv.Itoa(group) + "-" + strconv.Itoa(row)
}
