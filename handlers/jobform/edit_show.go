package jobform

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/jobform"
	"github.com/fleetboard/fleetboard/views/links"
)

// edit is the form of a job as it is now.
func (p *Pages) edit(c echo.Context, who tenancy.Principal) error {
	return p.editPage(c, who, http.StatusOK, nil, refusal{})
}

// refusal is what is wrong with a form: with fields by their names, and with the whole.
type refusal struct {
	wrong   map[string]string
	problem string
}

// editPage is the form of a job: as the job is where typed is nil, else as it was typed
// with what somebody else changed meanwhile.
func (p *Pages) editPage(c echo.Context, who tenancy.Principal, status int, typed *edit, r refusal) error {
	ctx := c.Request().Context()
	query := screens.FormQuery{Job: c.Param("key")}
	if typed != nil {
		query.Seen = typed.version
	}
	var e edit
	page, err := p.Screens.FormPage(ctx, who, query, func(page screens.FormPage) screens.StartQuery {
		if typed == nil {
			e = begin(page.Job, c.QueryParam("then") == retryNext)
		} else {
			e = *typed
			e.merge(page.Job)
		}
		e.retry = e.retry && page.Job.Can(jobs.ByRetry)
		return e.form.startQuery(page.Job)
	})
	if err != nil {
		return err
	}
	sheet := pageData{form: e.form, snap: page.Fleet, products: page.Products, phases: page.Phases, start: page.Start,
		errors: r.wrong, problem: r.problem, blank: typed == nil, job: page.Job, retry: e.retry}
	form := sheet.model()
	form.Edit = e.model(page)
	if len(form.Edit.Changes) > 0 && form.Error == "" {
		form.Error = page.Job.Key + " was changed meanwhile. What you typed is still here."
	}
	shell, err := p.Web.Page(c, who, page.Fleet, "", "Edit "+page.Job.Key)
	if err != nil {
		return err
	}
	return web.Render(c, status, view.EditView(view.Page{Shell: shell, Form: form}))
}

// merge takes into the form what others changed where the person typed nothing, and what
// can no longer change.
func (e *edit) merge(now jobs.Job) {
	form, locked := fillForm(now), lockedFields(now)
	e.dropped = nil
	for _, f := range fields {
		if locked[f.name] != "" && e.typed(f) && f.digest(e.form) != f.digest(form) {
			e.dropped = append(e.dropped, f.name)
		}
		_, editable := e.base[f.name]
		if !editable || locked[f.name] != "" || !e.typed(f) {
			f.copy(&e.form, form)
		}
	}
	e.form.product = now.Product
}

// model is what the page says of the job beside its fields.
func (e edit) model(page screens.FormPage) *view.Edit {
	j := page.Job
	m := &view.Edit{Key: j.Key, Title: j.Title, URL: e.url(), JobURL: links.Job(j.Key), DraftURL: links.JobDraft(j.Key, e.retry),
		Version: j.Version, Retry: e.retry, CanRetry: j.Can(jobs.ByRetry), Locked: lockedFields(j),
		Secrets: j.SecretKeys, CopyURL: links.JobCopy(j.Key)}
	m.Inputs = inputNames(j)
	var base []string
	for _, f := range fields {
		if was, editable := e.base[f.name]; editable {
			base = append(base, f.name+"="+was)
		}
	}
	m.Base = strings.Join(base, " ")
	now := fillForm(j)
	for _, f := range fields {
		dropped := slices.Contains(e.dropped, f.name)
		if !dropped && !e.changedIn(now, f) {
			continue
		}
		m.Changes = append(m.Changes, view.Change{Field: f.name, Label: f.label(), Now: f.shown(now), By: changedBy(page.Events, f),
			Differs: f.digest(e.form) != f.digest(now), Dropped: dropped})
	}
	return m
}

// changedBy is who changed a field last, "" where none of the events tells it.
func changedBy(events []eventlog.Event, f field) string {
	for _, e := range events {
		if slices.ContainsFunc(e.Changes, func(c eventlog.Change) bool { return c.Field == f.event() }) {
			return e.Actor.Name
		}
	}
	return ""
}
