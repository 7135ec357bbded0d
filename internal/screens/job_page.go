package screens

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
	"github.com/fleetboard/fleetboard/internal/jobs/collisions"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// JobQuery says what of a job its page shows.
type JobQuery struct {
	Job    string         // its key or id
	Before int64          // the event that the shown ones are older than, 0 for the newest
	Events int            // how many events, at most
	Log    *joblog.Filter // of the lines of its log; nil reads none
}

// JobPage is a job with all that its page shows, as it was at one moment.
type JobPage struct {
	Cursor       string // the place in the log from which on everything is news
	Fleet        fleet.Snapshot
	Why          Explanation
	Attempts     []attempts.Attempt // newest first
	Used         spend.JobUsage
	Models       []usage.JobModel // that it was used of, the dearest first
	Money        Money
	Graph        jobs.Graph
	Merge        Merge            // of approved and merged work
	Rounds       []Round          // the verifications of its work, newest first, where its product has it verified
	MoreRounds   bool             // there are older ones
	Conversation []eventlog.Event // newest first
	Events       []eventlog.Event // newest first
	Collisions   []collisions.Collision
	Log          []joblog.Line // newest first
	MoreLog      bool          // there are older lines than those of Log
}

// Merge is the job that merges another one, or did it last; the zero value for none.
type Merge struct {
	Key    string
	Status jobs.Status
	URL    string // of its pull request, as far as its factory says
}

// JobPage reads all that the page of a job shows, in one snapshot. Fault: NotFound.
func (s *Service) JobPage(ctx context.Context, who tenancy.Principal, query JobQuery) (JobPage, error) {
	var page JobPage
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) (err error) {
		page, err = jobPageTx(ctx, tx, who, query)
		return err
	})
	return page, err
}

func jobPageTx(ctx context.Context, tx db.Tx, who tenancy.Principal, query JobQuery) (JobPage, error) {
	var page JobPage
	cursor, err := eventlog.HeadTx(ctx, tx)
	if err != nil {
		return page, err
	}
	page.Cursor = cursor.String()
	if page.Why, page.Fleet, err = explainTx(ctx, tx, who, query.Job); err != nil {
		return page, err
	}
	job := page.Why.Job
	if page.Attempts, err = attempts.OfJobTx(ctx, tx, who.Workspace, job); err != nil {
		return page, err
	}
	epochs := make([]int64, len(page.Attempts))
	for i, a := range page.Attempts {
		epochs[i] = a.Epoch
	}
	if page.Used, err = spend.OfAttemptsTx(ctx, tx, who.Workspace, job.ID, epochs); err != nil {
		return page, err
	}
	if page.Used.Total.Entries > 0 {
		if page.Models, err = usage.OfJobTx(ctx, tx, who.Workspace, job.ID); err != nil {
			return page, err
		}
	}
	of := budgeting.Scope{Product: job.Product, Phase: job.Phase, Job: job.ID, Priority: job.Priority}
	if page.Money, err = moneyTx(ctx, tx, who.Workspace, EstimateAsk(job), of); err != nil {
		return page, err
	}
	if page.Collisions, err = collisionsTx(ctx, tx, who.Workspace, job, page.Fleet); err != nil {
		return page, err
	}
	if page.Graph, err = jobs.GraphTx(ctx, tx, who.Workspace, job.ID); err != nil {
		return page, err
	}
	if job.Status == jobs.Approved || job.MergedCommit != "" {
		if page.Merge, err = mergeTx(ctx, tx, who.Workspace, job.ID); err != nil {
			return page, err
		}
	}
	if job.VerifyMode == jobs.VerifyByAgent {
		r := verifications{&reader{ctx: ctx, tx: tx, workspace: who.Workspace, snap: page.Fleet}}
		if page.Rounds, page.MoreRounds, err = r.rounds(job.ID, 0, PageRounds); err != nil {
			return page, err
		}
	}
	if page.Conversation, err = conversationTx(ctx, tx, who.Workspace, job.ID); err != nil {
		return page, err
	}
	if page.Events, err = eventlog.OfJobTx(ctx, tx, who.Workspace, job.ID, query.Before, query.Events); err != nil || query.Log == nil {
		return page, err
	}
	var next string
	page.Log, next, err = joblog.LogsTx(ctx, tx, who.Workspace, job.ID, *query.Log)
	page.MoreLog = next != ""
	return page, err
}

// FormQuery says what of a job the form of it shows.
type FormQuery struct {
	Job  string // its key or id; "" for a new one
	Seen int    // the version that was shown before; another one brings the events since
}

// FormPage is what the form of a job shows, as it was at one moment.
type FormPage struct {
	PageContext

	Job    jobs.Job // the zero value for a new one
	Start  Start
	Events []eventlog.Event // newest first, of a job that changed since it was seen
}

// maxFormEvents is how many events are read to find who changed a job.
const maxFormEvents = 100

// FormPage reads what the form of a job shows, in one snapshot: the job, what the menus
// offer, and what stands before the job that ask names, given the fleet. Fault: NotFound.
func (s *Service) FormPage(
	ctx context.Context, who tenancy.Principal, query FormQuery, ask func(FormPage) StartQuery,
) (FormPage, error) {
	var page FormPage
	err := s.snapshot(ctx, who.Workspace, func(tx db.Tx) (err error) {
		page = FormPage{}
		if _, page.PageContext, err = pageContext(ctx, tx, who); err != nil {
			return err
		}
		if query.Job != "" {
			if page.Job, err = jobs.LoadTx(ctx, tx, who.Workspace, query.Job); err != nil {
				return err
			}
		}
		if query.Seen > 0 && query.Seen != page.Job.Version {
			if page.Events, err = eventlog.OfJobTx(ctx, tx, who.Workspace, page.Job.ID, 0, maxFormEvents); err != nil {
				return err
			}
		}
		page.Start, err = startTx(ctx, tx, who, page.Fleet, ask(page))
		return err
	})
	return page, err
}

// namedTx reads jobs by key or id, in the order requested. What names no job is left out.
func namedTx(ctx context.Context, tx db.Tx, who tenancy.Principal, keysOrIDs []string) ([]jobs.Job, error) {
	found, err := jobs.FindManyTx(ctx, tx, who.Workspace, keysOrIDs)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]jobs.Job, 2*len(found))
	for _, j := range found {
		byName[j.Key], byName[j.ID.String()] = j, j
	}
	list := make([]jobs.Job, 0, len(found))
	for _, name := range keysOrIDs {
		if j, ok := byName[name]; ok {
			list = append(list, j)
		}
	}
	return list, nil
}
