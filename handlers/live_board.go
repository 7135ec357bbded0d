package handlers

import (
	"context"
	"slices"
	"time"

	"github.com/a-h/templ"

	"fleetboard/handlers/web"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
)

// liveBoard is the board as one filter shows it to those who may do the same.
type liveBoard struct {
	server    *Server
	who       tenancy.Principal
	look      look
	workspace string
	first     views.FirstRun

	empty   bool                // the page shows that there are no jobs, in place of columns
	columns []kanban.ColumnPage // only their counts; nil until the first change
	sent    sentCards
	opened  bool // what can be claimed changed since the last refresh
}

// change sends the columns that jobs entered or left, and of the other columns
// the cards that changed where they stand.
func (r *liveBoard) change(ctx context.Context, u *kanban.Update) (news, error) {
	r.look.now = nowOf(u)
	if u.Fleet != nil {
		r.look.snap = *u.Fleet
	}
	r.opened = r.opened || opens(u)
	touched, err := r.touched(ctx, u)
	if err != nil {
		return news{}, err
	}
	if err := r.count(ctx, touched); err != nil {
		return news{}, err
	}
	n := news{later: r.opened || holds(touched, kanban.Ready)}
	// The first job, or the first that passes the filter, makes another page of
	// it; so does the last one that goes.
	if empty := r.total() == 0; r.columns != nil && empty != r.empty {
		r.empty, n.reset = empty, true
		return n, nil
	}
	for _, page := range touched {
		n.parts = append(n.parts, r.column(page))
	}
	for _, c := range u.Cards {
		if !holds(touched, kanban.ColumnOf(c.Job.Status)) {
			card := r.look.card(c)
			r.sent.note(card)
			n.parts = append(n.parts, views.LiveCard(card))
		}
	}
	for _, ref := range u.Changed {
		if slices.Contains(u.Gone, ref.ID) {
			n.parts = append(n.parts, views.LiveCardGone(ref.Key))
		}
	}
	if len(touched) > 0 {
		n.parts = append(n.parts, r.totals())
	}
	if u.Fleet != nil && r.empty {
		first := web.FirstRunModel(r.first.Server, r.first.TokenFile, r.first.CanWrite, *u.Fleet)
		n.parts = append(n.parts, views.LiveFirstRun(first))
	}
	return n, nil
}

func holds(pages []kanban.ColumnPage, c kanban.Column) bool {
	return slices.ContainsFunc(pages, func(p kanban.ColumnPage) bool { return p.Column == c })
}

func (r *liveBoard) column(page kanban.ColumnPage) wholeColumn {
	if r.sent == nil {
		r.sent = sentCards{}
	}
	return r.sent.column(r.look.column(page))
}

// touched are the columns that changed, as this filter shows them.
func (r *liveBoard) touched(ctx context.Context, u *kanban.Update) ([]kanban.ColumnPage, error) {
	f := narrowed(r.look.filter)
	if f.Open() {
		return u.Touched, nil
	}
	var names []kanban.Column
	for _, p := range u.Touched {
		names = append(names, p.Column)
	}
	return r.server.Kanban.ColumnPages(ctx, r.who, f, names...)
}

// count keeps the numbers of jobs in the columns: all of them are read once,
// then only those that change.
func (r *liveBoard) count(ctx context.Context, touched []kanban.ColumnPage) error {
	if r.columns == nil && len(touched) > 0 {
		pages, err := r.server.Kanban.ColumnPages(ctx, r.who, narrowed(r.look.filter), kanban.Columns...)
		if err != nil {
			return err
		}
		for _, p := range pages {
			p.Cards = nil
			r.columns = append(r.columns, p)
		}
	}
	for i, p := range r.columns {
		for _, t := range touched {
			if t.Column == p.Column {
				r.columns[i].Count, r.columns[i].Capped = t.Count, t.Capped
			}
		}
	}
	return nil
}

// total is the number of jobs on the board, once they were counted.
func (r *liveBoard) total() int {
	n := 0
	for _, p := range r.columns {
		n += p.Count
	}
	return n
}

func (r *liveBoard) totals() templ.Component {
	capped := slices.ContainsFunc(r.columns, func(p kanban.ColumnPage) bool { return p.Capped })
	shell := views.Shell{Workspace: r.workspace, Title: boardTitle(countOf(r.columns, kanban.Running))}
	return views.LiveTotals(shell, totalText(r.total(), capped))
}

// refresh reads what depends on the fleet and the products: whether a ready job
// can start, how many seats are free, and which jobs nobody can run.
func (r *liveBoard) refresh(ctx context.Context) ([]templ.Component, error) {
	r.look.now = time.Now()
	stuck, err := r.server.Kanban.Unroutable(ctx, r.who)
	if err != nil {
		return nil, err
	}
	parts := []templ.Component{views.LiveNote(r.look.note(stuck))}
	if !r.opened {
		return parts, nil
	}
	r.opened = false
	pages, err := r.server.Kanban.ColumnPages(ctx, r.who, narrowed(r.look.filter), kanban.Ready, kanban.Running)
	for _, page := range pages {
		parts = append(parts, r.column(page))
	}
	return parts, err
}

// ages is false: the browser keeps the ages of cards fresh by itself.
func (r *liveBoard) ages() bool { return false }
