package jobform

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// create makes the job and goes on to its page, or to an empty form. The
// same form sent twice makes one job. A form that is refused comes back with
// all that was typed. A job that no live factory can run is made all the same;
// the toast says so.
func (p *Pages) create(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	typed := parseForm(in)
	job, wrong := typed.job()
	if len(wrong) > 0 {
		return p.formAgain(c, who, typed, wrong, "")
	}
	var once *idempotency.Key
	if key, asked := typed.request(); key != "" {
		once = p.Jobs.Key(key, asked)
	}
	made, err := p.Jobs.Create(ctx, who, once, job)
	switch f := fault.From(err); {
	case err == nil:
	case f.Code == fault.Validation:
		wrong, rest := typed.fieldErrors(err)
		return p.formAgain(c, who, typed, wrong, rest)
	case f.Code == fault.IdempotencyKeyReused:
		typed.key = ids.New().String()
		return p.formAgain(c, who, typed, nil, "This form has already made a job with other values. Create again to make a second one.")
	case f.Code == fault.DependencyCycle:
		return p.formAgain(c, who, typed, map[string]string{"depends_on": f.Message}, "")
	default:
		return err
	}
	return p.created(c, who, made.Jobs[0], typed.again)
}

func (p *Pages) created(c echo.Context, who tenancy.Principal, job jobs.Job, again bool) error {
	toast, err := p.describeStart(c.Request().Context(), who, job)
	if err != nil {
		return err
	}
	toast.Title = job.Key + " created"
	if !again {
		p.Web.SetFlash(c, toast)
		return web.SeeOther(c, links.Job(job.Key))
	}
	toast.ActionLabel, toast.ActionURL = "Open", links.Job(job.Key)
	p.Web.SetFlash(c, toast)
	return web.SeeOther(c, links.NewJob)
}

// formAgain is the refused form. problem is about the form as a whole.
func (p *Pages) formAgain(c echo.Context, who tenancy.Principal, typed jobForm, wrong map[string]string, problem string) error {
	sheet := pageData{form: typed, errors: wrong, problem: problem}
	if problem == "" {
		sheet.problem = "The job was not created. " + fieldsNeed(len(wrong))
	}
	return p.newJobPage(c, who, http.StatusUnprocessableEntity, sheet)
}
