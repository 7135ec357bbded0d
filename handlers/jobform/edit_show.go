package jobform

import (
	"cmp"
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
	"github.com/fleetboard/fleetboard/views/ui"
)

// edit answers with the form of a job as it is now.
func (p *Pages) edit(c echo.Context, who tenancy.Principal) error {
	return p.editPage(c, who, http.StatusOK, nil)
}

// editPage returns the form of a job: as the job is where typed is nil, else as it was typed
// with what somebody else changed meanwhile.
func (p *Pages) editPage(c echo.Context, who tenancy.Principal, status int, typed *edit) error {
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
		return editQuery(draft(e.form), page.Job)
	})
	if err != nil {
		return err
	}
	sheet := pageData{form: e.form, snap: page.Fleet, products: page.Products, phases: page.Phases, start: page.Start,
		blank: typed == nil, job: page.Job, retry: e.retry}
	form := sheet.model()
	form.Edit = e.model(page)
	if len(form.Edit.Changes) > 0 && form.Error == "" {
		form.Error = page.Job.Key + " was changed meanwhile. What you typed is still here."
	}
	shell, err := p.Page(c, who, page.Fleet, "", "Edit "+page.Job.Key)
	if err != nil {
		return err
	}
	return web.Render(c, status, view.EditView(view.Page{Shell: shell, Form: form}))
}

// merge takes into the form what others changed where the person typed nothing, and what
// can no longer change.
func (e *edit) merge(now jobs.Job) {
	form, locked := fill(now), lockedFields(now)
	e.dropped = nil
	for _, name := range editable {
		typed := e.typed(name)
		if locked[name] != "" && typed && digest(e.form, name) != digest(form, name) {
			e.dropped = append(e.dropped, name)
		}
		if locked[name] != "" || !typed {
			e.form.Typed[name] = form.Typed[name]
		}
	}
	e.form.Typed.Set("product", now.Product)
}

// model returns what the page says of the job beside its fields.
func (e edit) model(page screens.FormPage) *view.Edit {
	j := page.Job
	m := &view.Edit{Key: j.Key, Title: j.Title, URL: e.url(), JobURL: links.Job(j.Key), DraftURL: links.JobDraft(j.Key, e.retry),
		Version: j.Version, Retry: e.retry, CanRetry: j.Can(jobs.ByRetry), Locked: lockedFields(j),
		Secrets: j.SecretKeys, CopyURL: links.JobCopy(j.Key)}
	m.Inputs = inputNames(j)
	if e.retry && j.Status == jobs.Failed {
		m.Failure = j.LastError
	}
	var base []string
	for _, name := range editable {
		if was, editable := e.base[name]; editable {
			base = append(base, name+"="+was)
		}
	}
	m.Base = strings.Join(base, " ")
	now := fill(j)
	for _, name := range editable {
		dropped := slices.Contains(e.dropped, name)
		if !dropped && !e.changedIn(now, name) {
			continue
		}
		m.Changes = append(m.Changes, view.Change{Field: name, Label: now.Field(name).Label, Now: words(now, name),
			By: changedBy(page.Events, name), Differs: digest(e.form, name) != digest(now, name), Dropped: dropped})
	}
	return m
}

// words returns what a field holds, in words.
func words(f ui.Form, name string) string {
	sep := ", "
	if name == "acceptance" {
		sep = "\n"
	}
	switch text := strings.Join(f.Typed[name], sep); {
	case f.Field(name).Options != nil:
		return f.Word(name)
	case text == "" && name == "engine":
		return "any"
	case text == "":
		return "empty"
	default:
		return text
	}
}

// changedBy returns who changed a field last, "" where none of the events says it.
func changedBy(events []eventlog.Event, name string) string {
	name = cmp.Or(eventNames[name], name)
	for _, e := range events {
		if slices.ContainsFunc(e.Changes, func(c eventlog.Change) bool { return c.Field == name }) {
			return e.Actor.Name
		}
	}
	return ""
}
