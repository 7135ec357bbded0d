package live

import (
	"slices"
	"time"

	"github.com/a-h/templ"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/views/layout"
)

// merge adds a later update to what was gathered. The update itself belongs to
// all who watch and is left as it is.
func merge(into, u *screens.Update) {
	if u.Cursor != "" {
		into.Cursor = u.Cursor
	}
	if u.Fleet != nil {
		into.Fleet = u.Fleet
	}
	if u.Needs != nil {
		into.Needs = u.Needs
	}
	into.Rules = into.Rules || u.Rules
	into.Changed = append(into.Changed, u.Changed...)
	for _, c := range u.Cards {
		at := slices.IndexFunc(into.Cards, func(k screens.Card) bool { return k.Job.ID == c.Job.ID })
		if at < 0 {
			into.Cards = append(into.Cards, c)
		} else {
			into.Cards[at] = c
		}
	}
	for _, p := range u.Touched {
		at := slices.IndexFunc(into.Touched, func(k screens.ColumnPage) bool { return k.Column == p.Column })
		if at < 0 {
			into.Touched = append(into.Touched, p)
		} else {
			into.Touched[at] = p
		}
	}
	for _, id := range u.Gone {
		if !slices.Contains(into.Gone, id) {
			into.Gone = append(into.Gone, id)
		}
		into.Cards = slices.DeleteFunc(into.Cards, func(c screens.Card) bool { return c.Job.ID == id })
	}
}

func sameFleet(a, b layout.Fleet) bool {
	return a.Free == b.Free && a.More == b.More && a.Stop == b.Stop && slices.Equal(a.Rows, b.Rows)
}

// Opens reports whether jobs that did not change themselves may be claimed now,
// or no longer: the fleet, a product or a review queue changed.
func Opens(u *screens.Update) bool {
	return u.Fleet != nil || u.Rules || Holds(u.Touched, screens.Review)
}

// UpdateTime returns the time that an update is shown at: the database's where it came
// with the fleet.
func UpdateTime(u *screens.Update) time.Time {
	if u.Fleet != nil {
		return web.Now(*u.Fleet)
	}
	return time.Now()
}

// Holds reports whether a column is among pages.
func Holds(pages []screens.ColumnPage, c screens.Column) bool {
	return slices.ContainsFunc(pages, func(p screens.ColumnPage) bool { return p.Column == c })
}

// counts returns what an update changes in the navigation of every page.
func counts(u *screens.Update) []templ.Component {
	if u.Needs == nil {
		return nil
	}
	return []templ.Component{layout.LiveCounts(web.CountText(u.Needs.All()), web.CountText(u.Needs.Reviews)),
		layout.LiveMoney(web.MoneyNote(u.Needs.Budgets))}
}
