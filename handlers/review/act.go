package review

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// decisions are the verbs of the review page.
var decisions = []jobs.Trigger{jobs.ByApprove, jobs.ByReject, jobs.ByMerge, jobs.ByMergeFail}

// reviewRaces is how often a decision starts again because the job was changed
// at that moment in a way that does not concern it, such as by a tick.
const reviewRaces = 5

// act decides on a job and leads on to the next one. The decision is for
// the attempt that the form names: where another one was handed in meanwhile, it
// is refused. What else was changed does not matter to it, except on a page that a link with
// a version has led to: there the decision is for the version that it shows.
func (s site) act(c echo.Context, who tenancy.Principal) error {
	v, ok := jobparts.VerbNamed(c.Param("action"))
	if !ok || !slices.Contains(decisions, v.By) {
		return fault.New(fault.NotFound, "There is no such decision.")
	}
	in, err := web.Form(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	next, err := s.afterwards(ctx, who, c.Param("key"))
	if err != nil {
		return err
	}
	job, err := s.decide(ctx, who, c.Param("key"), in, v)
	stay := links.ReviewJob(c.Param("key"), "")
	if from := readSeen(in); from.linked() {
		stay = links.ReviewSeen(c.Param("key"), from.version, from.head)
	}
	switch {
	case jobparts.Outdated(err):
		s.SetFlash(c, jobparts.NotDone(job, v))
		return web.SeeOther(c, stay)
	case fault.Is(err, fault.Validation), fault.Is(err, fault.ChildrenOpen):
		s.SetFlash(c, ui.Toast{Tone: ui.Bad, Title: v.Label + " was not done", Text: web.FieldText(err)})
		return web.SeeOther(c, stay)
	case err != nil:
		return err
	}
	s.SetFlash(c, ui.Toast{Tone: ui.OK, Title: job.Key + " " + v.Done, Text: consequence(v.By), Undo: jobparts.FindUndo(v.By, job)})
	return web.SeeOther(c, links.ReviewJob(next, ""))
}

// decide carries a decision out on the job as it is now, which is given back
// also where the decision does not fit it any more.
func (s site) decide(ctx context.Context, who tenancy.Principal, key string, in url.Values, v jobparts.Verb) (job jobs.Job, err error) {
	a, err := jobparts.ReadAction(in, v)
	if err != nil {
		return jobs.Job{}, err
	}
	if v.By == jobs.ByApprove {
		a.Commit = in.Get("head")
	}
	seenVersion, err := jobparts.ReadVersion(in)
	if err != nil {
		return jobs.Job{}, err
	}
	for range reviewRaces {
		if job, err = s.Jobs.Get(ctx, who, key); err != nil {
			return job, err
		}
		if !jobs.Can(job.Status, v.By) || strconv.FormatInt(job.Epoch, 10) != in.Get("epoch") {
			return job, job.Refuse(v.By)
		}
		if a.Version = seenVersion; a.Version == nil {
			a.Version = &job.Version
		}
		var after jobs.Job
		if after, err = s.Dispatch.Act(ctx, who, job.Key, a); err == nil {
			return after, nil
		}
		if seenVersion != nil || !fault.Is(err, fault.VersionConflict) {
			break
		}
	}
	return job, err
}

// afterwards returns the job to look at after one of the queue: the one behind it,
// else the oldest.
func (s site) afterwards(ctx context.Context, who tenancy.Principal, key string) (string, error) {
	queue, err := s.Screens.ReviewQueue(ctx, who, "")
	sheet := pageData{queue: queue, place: place{key: key}}
	return sheet.next(), err
}

// consequence returns what a decision leads to.
func consequence(by jobs.Trigger) string {
	switch by {
	case jobs.ByReject:
		return "It is ready again; the next attempt is given your reason."
	case jobs.ByApprove:
		return "It waits for its merge now."
	default:
		return ""
	}
}
