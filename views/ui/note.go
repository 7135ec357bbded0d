package ui

import (
	"strconv"

	"github.com/a-h/templ"
)

// What a Note is about.
const (
	AboutUsedUp     = "used-up" // a budget that waits for a decision
	AboutBudget     = "budget"
	AboutUnroutable = "unroutable"
)

// attrs are for static/js/notes.js, which chooses among notes that arrive live.
func (n Note) attrs() templ.Attributes {
	if n.Key == "" {
		return nil
	}
	return templ.Attributes{"data-note": n.Key, "data-about": n.About, "data-grave": strconv.Itoa(n.Grave),
		"data-others": strconv.Itoa(n.Others), "data-listed": n.List, "hidden": n.Hidden}
}
