package board

import (
	"encoding/base64"
	"strconv"

	"github.com/a-h/templ"

	"github.com/fleetboard/fleetboard/views/ui"
)

func (c Card) row() bool { return c.Column == "done" || c.Column == "failed" }

func (c Card) menuID() string { return "menu-" + ui.DOMID(c.Key) }

func (c Card) showPercent() bool { return c.Column == "running" && c.Percent >= 0 }

// data returns what board.js needs to move the card.
func (c Card) data() templ.Attributes {
	data := templ.Attributes{
		"data-card":    c.Key,
		"data-column":  c.Column,
		"data-version": strconv.Itoa(c.Version),
		"data-moves":   c.MoveNames(),
		"data-url":     c.MoveURL,
		"data-digest":  c.Digest.String(),
	}
	if c.RankURL != "" {
		data["data-order"] = c.Order
	}
	return data
}

// String returns what the page has of a digest: three bytes, by which it sees in time that a
// card is not the one that the server means. The server compares the whole.
func (d Digest) String() string {
	var short [3]byte
	for i := range short {
		short[i] = d.Reason[i] ^ d.Rest[i]
	}
	return base64.RawURLEncoding.EncodeToString(short[:])
}

func lateClass(late bool) string {
	if late {
		return "warn"
	}
	return "text-faint"
}

func (c Column) empty() bool {
	for _, g := range c.Groups {
		if len(g.Cards) > 0 {
			return false
		}
	}
	return true
}

// sized returns the files and the criteria of work to look at, after its lines where they are
// known: ", 3 files, 0 of 3 met".
func (c Card) sized() string {
	text := ""
	for _, part := range []string{c.Files, c.Criteria} {
		if part != "" && text+c.Added != "" {
			text += ", "
		}
		text += part
	}
	return text
}
