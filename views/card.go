package views

import (
	"strconv"

	"github.com/a-h/templ"
)

// columnOrder is the order of the columns, and so the digit that moves a card.
var columnOrder = []string{"waiting", "ready", "running", "review", "done", "failed"}

func columnNumber(name string) string {
	for i, c := range columnOrder {
		if c == name {
			return strconv.Itoa(i + 1)
		}
	}
	return ""
}

func (c Card) row() bool { return c.Column == "done" || c.Column == "failed" }

func (c Card) menuID() string { return "menu-" + domID(c.Key) }

func (c Card) showPercent() bool { return c.Column == "running" && c.Percent >= 0 }

// data is what board.js needs to move the card.
func (c Card) data() templ.Attributes {
	return templ.Attributes{
		"data-card":    c.Key,
		"data-column":  c.Column,
		"data-version": strconv.Itoa(c.Version),
		"data-moves":   c.MoveNames(),
		"data-url":     c.MoveURL,
	}
}

func (r *Reason) class() string {
	if r.Ask {
		return "r-ask"
	}
	if r.Tone == "ok" {
		return "r-ok"
	}
	return r.Tone.TextClass()
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
