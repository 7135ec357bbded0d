// Package review is the review: the queue of work that was handed in, and the
// decisions about it.
package review

import (
	"context"
	"slices"

	"github.com/a-h/templ"

	"github.com/fleetboard/fleetboard/handlers/live"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/screens"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/review"
)

type site struct{ *web.Site }

// New declares the page. Its address names a job: what somebody else decides meanwhile
// never puts another job under the reader's hands. Without one it leads on to the oldest.
func New(s *web.Site) web.Page[pageData] {
	p := site{s}
	return web.Page[pageData]{
		Site: s, Path: links.Review, Need: tenancy.ReadBoard, Section: layout.SectionReview, Title: "Review",
		Read: p.read,
		Lead: func(d pageData) string {
			if first := d.next(); d.place.key == "" && first != "" {
				return links.ReviewJob(first, d.place.after)
			}
			return ""
		},
		View: func(shell layout.Shell, d pageData) templ.Component {
			if n := web.CountText(d.queue.Count); n != "" {
				shell.Title += " (" + n + ")"
			}
			return view.View(shell, d.model())
		},
		Live: web.Live[pageData]{
			View:    func(d pageData) templ.Component { return view.Live(d.model()) },
			Changes: aboutReview, AtOnce: true,
		},
		Actions: []web.Route{
			web.GetLong("/review/:key/patch", tenancy.ReadBoard, p.downloadPatch),
			web.Post("/review/:key/comments", tenancy.WriteJobs, p.addComment),
			web.Post("/review/:key/comments/:comment", tenancy.WriteJobs, p.resolveComment),
			web.Post("/review/:key/:action", tenancy.WriteJobs, p.act),
		},
	}
}

// aboutReview reports whether a job came to the review, left it, or went on in it.
func aboutReview(u *screens.Update) bool {
	return live.Holds(u.Touched, screens.Review) || slices.ContainsFunc(u.Cards, func(c screens.Card) bool {
		return c.Job.Status == jobs.InReview || c.Job.Status == jobs.Approved
	})
}

// place is what a review page shows: a job, beside a part of the queue.
type place struct {
	key   string // of the job, or its id; "" for none
	after string // cursor of the part, "" for the oldest
	seen  seen
}

// read reads the queue and the job of a place. A job that is no longer
// there is left out.
func (s site) read(ctx context.Context, r web.Request) (pageData, error) {
	d := pageData{place: place{key: r.Query.Get("job"), after: r.Query.Get("after"), seen: readSeen(r.Query)}, now: r.Now(),
		canWrite: r.Who.Can(tenancy.WriteJobs)}
	var err error
	if d.queue, err = s.Screens.ReviewQueue(ctx, r.Who, d.place.after); err != nil || d.place.key == "" {
		return d, err
	}
	job, err := s.Jobs.Get(ctx, r.Who, d.place.key)
	if fault.Is(err, fault.NotFound) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	d.job = &reviewedJob{job: job}
	if d.job.attempts, err = s.Attempts.Attempts(ctx, r.Who, job.ID.String()); err != nil {
		return d, err
	}
	if job.VerifyMode == jobs.VerifyByAgent {
		if d.job.rounds, d.job.more, err = s.Screens.Rounds(ctx, r.Who, job.ID.String(), 0, screens.PageRounds); err != nil {
			return d, err
		}
	}
	if d.place.seen.moved(job) {
		if d.job.since, err = s.Events.OfJob(ctx, r.Who, job.ID, 0, maxScan); err != nil {
			return d, err
		}
	}
	d.job.previews = s.previewProofs(ctx, r.Who, job)
	if d.job.comments, err = s.Comments.List(ctx, r.Who, job.ID.String()); err != nil {
		return d, err
	}
	d.job.talk, err = s.Screens.Conversation(ctx, r.Who, job.ID)
	return d, err
}
