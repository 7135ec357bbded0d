package review

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fleetboard/fleetboard/handlers/web"
	viewparts "github.com/fleetboard/fleetboard/views/jobparts"
	"github.com/fleetboard/fleetboard/views/ui"
)

// warned are the members of a result that findWarnings reports.
var warned = []string{"conflict_markers", "conflict_markers_not_named", "large_files_missing", "large_files_not_named",
	"files_not_named", "whole_diff_shown", "whole_diff_stored", "notes"}

const (
	// maxPlaces is how many places or files a warning names, maxNotes how many notes are shown.
	maxPlaces = 5
	maxNotes  = 10
	// maxNote bounds a note, in characters.
	maxNote = 500
)

// findWarnings returns what a reviewer should look at first: what was left in the work, and what of
// it is not shown. Of conflicts the page looks itself, too.
func findWarnings(raw json.RawMessage, changes *viewparts.Changes) []string {
	o := parseObject(raw)
	var list []string
	places := o.texts("conflict_markers")
	more := o.number("conflict_markers_not_named")
	if len(places) == 0 && changes != nil {
		places, more = changes.Conflicts, 0
	}
	if len(places) > 0 {
		list = append(list, "Markers of a conflict were left in "+named(places, more)+".")
	}
	if files := o.texts("large_files_missing"); len(files) > 0 {
		list = append(list, "The contents of files of Git LFS were not pushed, since their host does not have them: "+
			named(files, o.number("large_files_not_named"))+".")
	}
	if n := o.number("files_not_named"); n > 0 {
		list = append(list, web.Plural(n, "changed file is", "changed files are")+" not named here.")
	}
	shown, stored := o.denied("whole_diff_shown"), o.denied("whole_diff_stored")
	switch {
	case stored:
		list = append(list, "The changes are too long to be shown or stored whole: the branch has all of them.")
	case shown:
		list = append(list, "The changes are too long to be shown whole: the whole patch has all of them.")
	}
	for i, note := range o.texts("notes") {
		if i < maxNotes {
			list = append(list, web.FirstLine(note, maxNote))
		}
	}
	return list
}

// named joins places, and says how many more there are.
func named(places []string, more int) string {
	shown := places[:min(len(places), maxPlaces)]
	text := strings.Join(shown, ", ")
	if more = max(0, more) + len(places) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %s more", ui.Count(more))
	}
	return web.FirstLine(text, maxNote)
}

// texts returns a member that is a list of texts; what is none is left out.
func (o object) texts(name string) []string {
	var items []json.RawMessage
	if json.Unmarshal(o[name], &items) != nil {
		return nil
	}
	var list []string
	for _, raw := range items {
		var text string
		if json.Unmarshal(raw, &text) == nil && strings.TrimSpace(text) != "" {
			list = append(list, text)
		}
	}
	return list
}

// number returns a member that counts, 0 where it is none.
func (o object) number(name string) int {
	var n int
	if json.Unmarshal(o[name], &n) != nil || n < 0 {
		return 0
	}
	return n
}

// denied reports whether a member says no.
func (o object) denied(name string) bool {
	var yes bool
	return json.Unmarshal(o[name], &yes) == nil && !yes
}
