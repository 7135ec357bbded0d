package board

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/board"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// livePage is the board among the live pages.
type livePage struct{ pages *Pages }

// Name returns what ?on= calls it.
func (livePage) Name() string { return "board" }

// Shows reports whether an address is the board's.
func (livePage) Shows(at *url.URL) bool { return at.Path == links.Board }

// Key returns the filter, whether the page shows a job, and whether the reader may act.
func (livePage) Key(q url.Values, who tenancy.Principal) string {
	filter, err := parseFilter(q)
	if err != nil {
		return q.Encode() // Open refuses it
	}
	return links.LiveBoard("", filter) + q.Get(emptyParam) + strconv.FormatBool(who.Can(tenancy.WriteJobs))
}

// Open makes the live part of the board.
func (b livePage) Open(c echo.Context, who tenancy.Principal, snap fleet.Snapshot) (live.View, error) {
	filter, err := parseFilter(c.QueryParams())
	if err != nil {
		return nil, err
	}
	name, err := b.pages.WorkspaceName(c.Request().Context(), who)
	l := boardView{filter: filter, canWrite: who.Can(tenancy.WriteJobs), now: web.Now(snap), snap: snap}
	first := b.pages.FirstRun(c.Request().Context(), b.pages.Request(c, who, snap))
	return &liveBoard{pages: b.pages, who: who, view: l, workspace: name, first: first, empty: c.QueryParam(emptyParam) != "",
		shown: map[string]shown{}}, err
}

// toldHeader is the version of a job that the stream shows; the answer is empty because of that.
const toldHeader = "Fleetboard-Told"

// Parts returns the columns that a job left and entered, or the card of one that stayed
// where it was; nothing where the page's stream tells.
func (b livePage) Parts(c echo.Context, who tenancy.Principal, at *url.URL, act live.Act) ([]templ.Component, error) {
	if act.Told && !act.Refused {
		c.Response().Header().Set(toldHeader, strconv.Itoa(act.Job.Version))
		return nil, nil
	}
	ctx := c.Request().Context()
	filter, err := parseFilter(at.Query())
	if err != nil {
		return nil, err
	}
	snap, err := b.pages.Fleet.Snapshot(ctx, who)
	if err != nil {
		return nil, err
	}
	l := boardView{filter: filter, canWrite: who.Can(tenancy.WriteJobs), now: web.Now(snap), snap: snap}
	if act.Refused {
		return b.cardNow(ctx, who, l, act.Job)
	}
	columns := []screens.Column{act.From}
	if now := screens.StatusColumn(act.Job.Status); now != act.From {
		columns = append(columns, now)
	}
	return b.columnsNow(ctx, who, l, columns)
}

func (b livePage) cardNow(ctx context.Context, who tenancy.Principal, l boardView, job jobs.Job) ([]templ.Component, error) {
	cards, err := b.pages.Screens.Cards(ctx, who, job.ID)
	if err != nil {
		return nil, err
	}
	if len(cards) == 0 {
		return []templ.Component{view.LiveCardGone(job.Key)}, nil
	}
	return []templ.Component{view.LiveCard(l.card(cards[0]))}, nil
}

func (b livePage) columnsNow(ctx context.Context, who tenancy.Principal, l boardView, columns []screens.Column) ([]templ.Component, error) {
	var parts []templ.Component
	for _, name := range slices.DeleteFunc(columns, func(c screens.Column) bool { return c == "" }) {
		page, err := b.pages.Screens.ColumnPage(ctx, who, narrowed(l.filter), name, "")
		if err != nil {
			return nil, err
		}
		parts = append(parts, view.LiveColumn(l.column(page)))
	}
	return parts, nil
}

// liveBoard is the board as one filter shows it to those who may do the same.
type liveBoard struct {
	pages     *Pages
	who       tenancy.Principal
	view      boardView
	workspace string
	first     ui.FirstRun

	empty   bool                 // the page shows that there are no jobs, in place of columns
	columns []screens.ColumnPage // only their counts; nil until they are read
	sent    sentCards            // nil where one reader catches up
	shown   map[string]shown     // the columns that were sent last
	opened  bool                 // what can be claimed changed since the last refresh
	joined  atomic.Bool          // a reader came since then, whose page may show something else
}

// Join notes that a reader came.
func (r *liveBoard) Join() { r.joined.Store(true) }

// Start notes what a page shows that is made now: all that come later to the stream have that,
// or are told of it when they catch up.
func (r *liveBoard) Start(ctx context.Context) error {
	pages, err := r.pages.Screens.ColumnPages(ctx, r.who, narrowed(r.view.filter), screens.Columns...)
	if err != nil {
		return err
	}
	r.sent = sentCards{}
	for _, p := range pages {
		r.sent.column(r.view.column(p))
	}
	r.setCounts(pages)
	return nil
}

// Change sends the columns that jobs entered or left, and of the other columns
// the cards that changed where they stand.
func (r *liveBoard) Change(ctx context.Context, u *screens.Update) (live.Update, error) {
	r.view.now = live.UpdateTime(u)
	if u.Fleet != nil {
		r.view.snap = *u.Fleet
	}
	r.opened = r.opened || live.Opens(u)
	touched, err := r.touched(ctx, u)
	if err != nil {
		return live.Update{}, err
	}
	if err := r.count(ctx, touched); err != nil {
		return live.Update{}, err
	}
	n := live.Update{Later: r.opened || live.Holds(touched, screens.Ready)}
	// The first job, or the first that passes the filter, makes another page of
	// it; so does the last one that goes.
	if empty := r.total() == 0; r.columns != nil && empty != r.empty {
		r.empty, n.Reset = empty, true
		return n, nil
	}
	// What leaves for a place behind "Show more" is told of too.
	left := slices.DeleteFunc(slices.Clone(u.Changed), func(ref screens.Ref) bool { return !r.sent.has(ref.Key) })
	for _, page := range touched {
		n.Parts = append(n.Parts, r.column(r.view.column(page), page, u))
	}
	left = slices.DeleteFunc(left, func(ref screens.Ref) bool { return r.sent.has(ref.Key) })
	for _, c := range u.Cards {
		if !live.Holds(touched, screens.StatusColumn(c.Job.Status)) {
			card := r.view.card(c)
			r.sent.note(card)
			r.shown[card.Column].note(card)
			n.Parts = append(n.Parts, view.LiveCard(card))
			left = slices.DeleteFunc(left, func(ref screens.Ref) bool { return ref.ID == c.Job.ID }) // its column comes
		}
	}
	for _, ref := range u.Changed {
		if slices.Contains(u.Gone, ref.ID) || slices.Contains(left, ref) {
			n.Parts = append(n.Parts, view.LiveCardGone(ref.Key))
		}
	}
	if len(touched) > 0 {
		n.Parts = append(n.Parts, r.totals())
	}
	if u.Fleet != nil && r.empty {
		first := web.FirstRunModel(r.first.Server, r.first.TokenFile, r.first.CanWrite, *u.Fleet)
		n.Parts = append(n.Parts, view.LiveFirstRun(first))
	}
	return n, nil
}

// column returns the part that shows a column which an update touched.
func (r *liveBoard) column(c view.Column, page screens.ColumnPage, u *screens.Update) templ.Component {
	r.shown[c.Name] = shownBy(c)
	if r.sent == nil {
		return view.LiveColumn(sinceThen(c, page, !narrowed(r.view.filter).IsZero(), u))
	}
	return view.LiveColumn(r.sent.column(c))
}

// touched returns the columns that changed, as this filter shows them.
func (r *liveBoard) touched(ctx context.Context, u *screens.Update) ([]screens.ColumnPage, error) {
	f := narrowed(r.view.filter)
	if f.IsZero() {
		return u.Touched, nil
	}
	var names []screens.Column
	for _, p := range u.Touched {
		names = append(names, p.Column)
	}
	return r.pages.Screens.ColumnPages(ctx, r.who, f, names...)
}

// count keeps the numbers of jobs in the columns: all of them are read once,
// then only those that change.
func (r *liveBoard) count(ctx context.Context, touched []screens.ColumnPage) error {
	if r.columns == nil && len(touched) > 0 {
		pages, err := r.pages.Screens.ColumnPages(ctx, r.who, narrowed(r.view.filter), screens.Columns...)
		if err != nil {
			return err
		}
		r.setCounts(pages)
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

func (r *liveBoard) setCounts(pages []screens.ColumnPage) {
	r.columns = nil
	for _, p := range pages {
		p.Cards = nil
		r.columns = append(r.columns, p)
	}
}

// total returns the number of jobs on the board, once they were counted.
func (r *liveBoard) total() int {
	n := 0
	for _, p := range r.columns {
		n += p.Count
	}
	return n
}

func (r *liveBoard) totals() templ.Component {
	capped := slices.ContainsFunc(r.columns, func(p screens.ColumnPage) bool { return p.Capped })
	shell := layout.Shell{Workspace: r.workspace, Title: boardTitle(countColumn(r.columns, screens.Running))}
	return view.LiveTotals(shell, totalText(r.total(), capped))
}

// Refresh reads what depends on the fleet and the products: whether a ready job
// can start, how many seats are free, and which jobs nobody can run.
func (r *liveBoard) Refresh(ctx context.Context) ([]templ.Component, error) {
	r.view.now = time.Now()
	stuck, err := r.pages.Screens.Unroutable(ctx, r.who)
	if err != nil {
		return nil, err
	}
	parts := []templ.Component{view.LiveNote(r.view.note(stuck))}
	if !r.opened {
		return parts, nil
	}
	r.opened = false
	pages, err := r.pages.Screens.ColumnPages(ctx, r.who, narrowed(r.view.filter), screens.Ready, screens.Running)
	joined := r.joined.Swap(false)
	for _, page := range pages {
		if c := r.view.column(page); joined || !r.shown[c.Name].equal(shownBy(c)) {
			parts = append(parts, r.column(c, page, &screens.Update{}))
		}
	}
	return parts, err
}

// Ages is false: the browser keeps the ages of cards fresh by itself.
func (r *liveBoard) Ages() bool { return false }
