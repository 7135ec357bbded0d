package job

import (
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/live"
	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// move takes a card to another column: by drag, menu, key or plain form. A
// job that is there already, by whomever, has arrived. One that cannot go there
// stays, and a toast says why. A move that needs a confirmation on the job's page leads there.
func (p *Pages) move(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	to := screens.Column(in.Get("to"))
	if jobparts.ColumnTitles[to] == "" {
		return fault.Invalid("to", "The board has no such column.")
	}
	version, err := jobparts.ReadVersion(in)
	if err != nil {
		return err
	}
	job, err := p.Jobs.Get(ctx, who, c.Param("key"))
	if err != nil {
		return err
	}
	from := screens.StatusColumn(job.Status)
	if from == to {
		return p.moved(c, who, live.Act{Job: job, From: from, Refused: isLive(c)}, nil)
	}
	by, whyNot := screens.FindMove(job, to)
	if whyNot != "" {
		return p.refused(c, who, job, wayOut(job, to, whyNot))
	}
	if _, asks := jobparts.AskedAction(job, by); asks {
		return web.SeeOther(c, links.JobDialog(job.Key, string(by)))
	}
	after, err := p.Dispatch.Act(ctx, who, job.Key, actions.Action{Verb: by, Version: version})
	undo := jobparts.FindUndo(by, after)
	if jobparts.Outdated(err) {
		undo = nil
		if after, err = p.Jobs.Get(ctx, who, job.Key); err != nil {
			return err
		}
		if screens.StatusColumn(after.Status) != to {
			return p.refused(c, who, after, cameBack(after, "It has changed since you saw it. This is how it is now."))
		}
	}
	if err != nil {
		return err
	}
	return p.moved(c, who, live.Act{Job: after, From: from, Told: isLive(c)}, undo)
}

// moved answers a move that was made. htmx shows it by itself; a request to an agent,
// which leaves the card where it is, needs words, and an undo its place.
func (p *Pages) moved(c echo.Context, who tenancy.Principal, act live.Act, undo *ui.Undo) error {
	job := act.Job
	toast := askedToast(job)
	if toast == nil && (undo != nil || !web.IsHX(c)) {
		toast = &ui.Toast{Tone: ui.OK, Title: job.Key + " is in " + columnOrGone(job.Status)}
	}
	if toast != nil {
		toast.Undo = undo
	}
	return p.done(c, who, act, toast)
}

func columnOrGone(status jobs.Status) string {
	if title := jobparts.ColumnTitles[screens.StatusColumn(status)]; title != "" {
		return title
	}
	return "the archive"
}

func cameBack(job jobs.Job, why string) ui.Toast {
	return ui.Toast{Tone: ui.Warn, Title: job.Key + " is in " + columnOrGone(job.Status), Text: why}
}

// wayOut is cameBack with what can be done instead: a question is answered on the job's
// page, and work in review is judged on its own, where sending it back requires the reason.
func wayOut(job jobs.Job, to screens.Column, whyNot string) ui.Toast {
	t := cameBack(job, whyNot)
	if job.Asks() {
		t.ActionLabel, t.ActionURL = "Answer", links.JobQuestion(job.Key)
	}
	if job.Status == jobs.InReview {
		t.ActionLabel, t.ActionURL = "Review it", links.ReviewJob(job.Key, "")
		if to == screens.Ready {
			t.ActionLabel, t.ActionURL = "Reject it", t.ActionURL+"#dlg-"+string(jobs.ByReject)
		}
	}
	return t
}

// askedToast says that the agent got a request and was not forced, nil where it was not.
func askedToast(job jobs.Job) *ui.Toast {
	if !job.Lease.IsDirectedToStop() {
		return nil
	}
	t := &ui.Toast{Tone: ui.Info, Text: "It has 60 seconds to answer, then the job is taken from it."}
	switch job.Lease.Directive {
	case string(jobs.ByPause):
		t.Title = jobparts.Holder(job) + " is asked to pause " + job.Key
	case string(jobs.ByCancel):
		t.Title = jobparts.Holder(job) + " is asked to stop " + job.Key
	default:
		return nil
	}
	return t
}
