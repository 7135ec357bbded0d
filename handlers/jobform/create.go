package jobform

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
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
	f, key := fields.Read(in), in.Get("idempotency_key")
	job, err := fields.Value(f)
	var made jobs.Created
	if err == nil {
		var once *idempotency.Key
		if _, ours := ids.Parse(key); ours {
			once = p.Jobs.Key(key, form.Digest(f))
		}
		made, err = p.Jobs.Create(ctx, who, once, job)
	}
	switch refused := fault.From(err); {
	case err == nil:
		return p.created(c, who, made.Jobs[0], in.Get("again") != "")
	case refused.Code == fault.IdempotencyKeyReused:
		key, f.Error = ids.New().String(), "This form has already made a job with other values. Create again to make a second one."
	default:
		if err := refuse(&f, err); err != nil {
			return err
		}
	}
	if f.Error == "" {
		f.Error = "The job was not created. " + fieldsNeed(len(f.Errors))
	}
	return p.newJobPage(c, who, http.StatusUnprocessableEntity, pageData{form: f, key: key})
}

// refuse writes into a form why it was refused; a cycle of dependencies is about that field.
func refuse(f *ui.Form, err error, codes ...fault.Code) error {
	if fault.Is(err, fault.DependencyCycle) {
		err = fault.Invalid("depends_on", "%s", fault.From(err).Message)
	}
	return fields.Refuse(f, err, codes...)
}

func (p *Pages) created(c echo.Context, who tenancy.Principal, job jobs.Job, again bool) error {
	toast, err := p.describeStart(c.Request().Context(), who, job)
	if err != nil {
		return err
	}
	toast.Title = job.Key + " created"
	if !again {
		p.SetFlash(c, toast)
		return web.SeeOther(c, links.Job(job.Key))
	}
	toast.ActionLabel, toast.ActionURL = "Open", links.Job(job.Key)
	p.SetFlash(c, toast)
	return web.SeeOther(c, links.NewJob)
}
