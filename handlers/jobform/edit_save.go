package jobform

import (
	"context"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// saveTries is how often an edit is made again because the job has changed, though
// nothing that the form shows.
const saveTries = 5

// save changes a job as its form says, and retries it where the form says so. A form
// that was refused, or crossed by somebody else's change, comes back with all that was
// typed. With ?draft it is only shown; with "take" a field, or each of them, becomes what
// it is in the job.
func (p *Pages) save(c echo.Context, who tenancy.Principal) error {
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	e, err := parseEdit(c.Param("key"), c.QueryParams(), in)
	if err != nil {
		return err
	}
	if c.QueryParam("draft") != "" {
		return p.editPage(c, who, http.StatusOK, &e)
	}
	if name := in.Get("take"); name != "" {
		return p.take(c, who, e, name)
	}
	patch, err := e.patch()
	if err == nil {
		var job jobs.Job
		if job, err = p.saved(c.Request().Context(), who, &e, patch); err == nil {
			return p.editDone(c, who, job, e)
		}
	}
	if err := refuse(&e.form, err, fault.VersionConflict, fault.InvalidTransition); err != nil {
		return err
	}
	switch {
	case fault.Is(err, fault.VersionConflict):
		e.form.Error = e.key + " was changed while you edited it. Nothing was saved yet; what you typed is still here."
	case fault.Is(err, fault.InvalidTransition):
		e.form.Error += " Nothing was saved."
	case e.form.Error == "":
		e.form.Error = e.key + " was not saved. " + fieldsNeed(len(e.form.Errors))
	}
	return p.editPage(c, who, http.StatusUnprocessableEntity, &e)
}

// saved makes the edit on the version that the form was opened with, or on a newer one
// that differs in nothing that the form shows.
func (p *Pages) saved(ctx context.Context, who tenancy.Principal, e *edit, patch jobs.Patch) (job jobs.Job, err error) {
	for range saveTries {
		patch.Version = e.version
		if e.retry {
			job, err = p.Dispatch.Act(ctx, who, e.key, actions.Action{Verb: jobs.ByRetry, Edit: &patch})
		} else {
			job, err = p.Jobs.Patch(ctx, who, e.key, patch)
		}
		now, conflict := fault.From(err).Details["job"].(jobs.Job)
		if err == nil || !fault.Is(err, fault.VersionConflict) || !conflict || e.clashes(now) {
			return job, err
		}
		e.version = now.Version
	}
	return job, err
}

// editDone goes on to the job's page, which says what came of it.
func (p *Pages) editDone(c echo.Context, who tenancy.Principal, job jobs.Job, e edit) error {
	toast := ui.Toast{Tone: ui.OK, Title: job.Key + " saved"}
	if e.retry {
		toast.Title = job.Key + " is tried again"
	}
	if job.Status == jobs.Ready || job.Status == jobs.Waiting {
		start, err := p.describeStart(c.Request().Context(), who, job)
		if err != nil {
			return err
		}
		toast.Tone, toast.Text = start.Tone, start.Text
	}
	p.SetFlash(c, toast)
	return web.SeeOther(c, links.Job(job.Key))
}

// fieldsNeed is "2 fields need another value; your text is kept."
func fieldsNeed(n int) string {
	fields := "One field needs"
	if n != 1 {
		fields = strconv.Itoa(n) + " fields need"
	}
	return fields + " another value; your text is kept."
}

// take shows the form with what the job has in a field, or in each that somebody else
// changed, in place of what was typed there.
func (p *Pages) take(c echo.Context, who tenancy.Principal, e edit, name string) error {
	job, err := p.Jobs.Get(c.Request().Context(), who, e.key)
	if err != nil {
		return err
	}
	now := fill(job)
	for _, field := range editable {
		if field == name || name == takeAll && e.changedIn(now, field) {
			e.form.Typed[field] = now.Typed[field]
		}
	}
	return p.editPage(c, who, http.StatusUnprocessableEntity, &e)
}

// takeAll is the value of "take" that means each field that somebody else changed.
const takeAll = "all"
