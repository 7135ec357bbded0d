package web

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// NotesCookie names the notes that a person has put away, by their keys.
const NotesCookie = "notes"

// How grave notes are; that a budget is nearly used up is the least.
const (
	GraveUnroutable = 1
	graveUsedUp     = 2
)

// maxPutAway is how many notes a browser remembers: the last ones.
const maxPutAway = 20

// NoteKey returns a name of what a note says.
func NoteKey(said ...string) string {
	slices.Sort(said)
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(strings.Join(said, "\n")))
	return strconv.FormatUint(sum.Sum64(), 36)
}

// OneNote shows the gravest of some notes and hides the others: those put away, and those
// that the page itself is about, are not counted. Notes may be nil.
func OneNote(c echo.Context, section layout.Section, notes ...*ui.Note) {
	away := notesAway(c)
	var shown []*ui.Note
	for _, n := range notes {
		if n == nil {
			continue
		}
		n.Hidden = true
		if !slices.Contains(away, n.Key) && !slices.Contains(section.About(), n.About) {
			shown = append(shown, n)
		}
	}
	if len(shown) == 0 {
		return
	}
	slices.SortStableFunc(shown, func(a, b *ui.Note) int { return b.Grave - a.Grave })
	first := shown[0]
	first.Hidden, first.More, first.MoreURL = false, len(shown)-1, first.List
	for _, n := range shown {
		first.More += n.Others
	}
	if len(shown) > 1 {
		first.MoreURL = shown[1].List
	}
}

// notesAway returns the keys of the notes that were put away, the oldest first.
func notesAway(c echo.Context) []string {
	cookie, err := c.Cookie(hostOnlyPrefix + NotesCookie)
	if err != nil {
		cookie, err = c.Cookie(NotesCookie)
	}
	if err != nil || cookie.Value == "" {
		return nil
	}
	return strings.Split(cookie.Value, ".")
}

// PutNoteAway returns the cookie's value with one more note.
func PutNoteAway(c echo.Context, key string) string {
	list := append(slices.DeleteFunc(notesAway(c), func(k string) bool { return k == key }), key)
	return strings.Join(list[max(0, len(list)-maxPutAway):], ".")
}
