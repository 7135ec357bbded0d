package board

import (
	"strconv"

	"github.com/a-h/templ"

	"github.com/fleetboard/fleetboard/views/ui"
)

func (c Card) row() bool { return c.Column == "done" || c.Column == "failed" }

func (c Card) menuID() string { return "menu-" + ui.DOMID(c.Key) }

func (c Card) showPercent() bool { return c.Column == "running" && c.Percent >= 0 }

// data returns what board.js needs to move the card.
func (c Card) data() templ.Attributes {
	return templ.Attributes{
		"data-card":    c.Key,
		"data-column":  c.Column,
		"data-version": strconv.Itoa(c.Version),
		"data-moves":   c.MoveNames(),
		"data-url":     c.MoveURL,
		"data-digest":  c.Digest,
	}
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
