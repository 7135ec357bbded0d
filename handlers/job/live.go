package job

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/job"
	"github.com/fleetboard/fleetboard/views/links"
)

// livePage is the page of a job among the live pages.
type livePage struct{ pages *Pages }

// Name returns what ?on= calls it.
func (livePage) Name() string { return "job" }

// Shows reports whether an address is one of the page's.
func (livePage) Shows(at *url.URL) bool { return strings.HasPrefix(at.Path, links.Jobs+"/") }

// Key returns what the address selects, for each role.
func (livePage) Key(q url.Values, who tenancy.Principal) string { return live.KeyByRole(q, who) }

// Open makes the live part of the page.
func (p livePage) Open(c echo.Context, who tenancy.Principal, _ fleet.Snapshot) (live.View, error) {
	sheet, err := p.pages.read(c.Request().Context(), who, c.QueryParam("job"))
	r := &liveJob{pages: p.pages, who: who, id: sheet.job.ID, key: sheet.job.Key}
	r.note(sheet)
	return r, err
}

// Parts show the job as it is now, on its own page; others do not show it.
func (p livePage) Parts(c echo.Context, who tenancy.Principal, at *url.URL, act live.Act) ([]templ.Component, error) {
	if key := parseKey(at); key != act.Job.Key && key != act.Job.ID.String() {
		return nil, nil
	}
	sheet, err := p.pages.read(c.Request().Context(), who, act.Job.ID.String())
	if err != nil {
		return nil, err
	}
	return []templ.Component{view.Live(sheet.model())}, nil
}

// parseKey returns the key or id of the job whose page has an address, "" for none.
func parseKey(at *url.URL) string {
	key, found := strings.CutPrefix(at.Path, links.Jobs+"/")
	if !found {
		return ""
	}
	return key
}

// liveJob is the page of one job.
type liveJob struct {
	pages  *Pages
	who    tenancy.Principal
	id     ids.ID
	key    string
	near   map[string]bool // keys of the jobs before and after it, and of its merge
	leased bool
	waits  bool // what it waits for may be the fleet
}

func (r *liveJob) note(sheet pageData) {
	r.leased, r.near = sheet.job.Lease != nil, map[string]bool{}
	r.waits = !r.leased && !sheet.job.Status.Finished()
	for _, l := range sheet.Graph.Nodes {
		r.near[l.Key] = true
	}
	if sheet.Merge.Key != "" {
		r.near[sheet.Merge.Key] = true
	}
	for _, round := range sheet.Rounds {
		r.near[round.Key] = true
	}
}

// Listen notifies of messages.
func (r *liveJob) Listen() (changed <-chan struct{}, stop func()) {
	return r.pages.Bus.Watch(r.who.Workspace)
}

// Heard reads the job's thread again.
func (r *liveJob) Heard(ctx context.Context) ([]templ.Component, error) {
	snap, err := r.pages.Fleet.Snapshot(ctx, r.who)
	if err != nil {
		return nil, err
	}
	d := pageData{job: jobs.Job{Key: r.key}, now: web.Now(snap), canWrite: r.who.Can(tenancy.WriteJobs)}
	err = r.pages.readMessages(ctx, r.who, &d)
	return []templ.Component{view.LiveThread(d.thread())}, err
}

// Change sends what a change of the board changes on the page.
func (r *liveJob) Change(ctx context.Context, u *screens.Update) (live.Update, error) {
	touched := slices.ContainsFunc(u.Changed, func(ref screens.Ref) bool { return ref.ID == r.id || r.near[ref.Key] }) ||
		slices.ContainsFunc(u.Cards, func(c screens.Card) bool { return c.Job.ID == r.id })
	if !touched {
		return live.Update{Later: r.waits && live.Opens(u)}, nil
	}
	parts, err := r.Refresh(ctx)
	return live.Update{Parts: parts}, err
}

// Refresh reads the page again.
func (r *liveJob) Refresh(ctx context.Context) ([]templ.Component, error) {
	sheet, err := r.pages.read(ctx, r.who, r.id.String())
	if err != nil {
		return nil, err
	}
	r.note(sheet)
	return []templ.Component{view.Live(sheet.model())}, nil
}

// Ages is for the age of the heartbeat and the end of the lease, which move
// without an event.
func (r *liveJob) Ages() bool { return r.leased }
