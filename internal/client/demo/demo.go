package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client"
	"github.com/fleetboard/fleetboard/internal/client/engines"
	"github.com/fleetboard/fleetboard/internal/client/worker"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// Options say where the demo runs.
type Options struct {
	// Server is the address, Owner and Enrolment are its tokens.
	Server, Owner, Enrolment string
	// Dir is where repositories and worktrees are made.
	Dir string
	// Pace is the time between two jobs, on the average.
	Pace time.Duration
	// HandsOff leaves reviews and questions to people.
	HandsOff bool
	Log      *slog.Logger
}

// hosts are the workers of the demo.
var hosts = []struct {
	name  string
	seats int
}{{"atlas-mac", 2}, {"basalt", 2}, {"cinder", 1}}

// Run shows the demo until ctx ends.
func Run(ctx context.Context, o Options) error {
	api, err := client.New(o.Server, o.Owner, api.Options{Retries: 5, LongestPause: time.Second})
	if err != nil {
		return err
	}
	if err := makeRepositories(ctx, filepath.Join(o.Dir, "repos")); err != nil {
		return err
	}
	d := &demo{Options: o, api: api, judge: rand.New(rand.NewPCG(3, 4))}
	if err := d.furnish(ctx); err != nil {
		return err
	}
	if d.made, err = d.lastMade(ctx); err != nil {
		return err
	}
	seed := uint64(2)
	if d.made > 0 {
		seed = rand.Uint64() // other stories than those that there are
	}
	d.draw = rand.New(rand.NewPCG(1, seed))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	faults := make(chan error, len(hosts))
	for _, h := range hosts {
		all.Go(func() {
			if err := d.work(ctx, h.name, h.seats); err != nil {
				faults <- fmt.Errorf("the worker %s: %w", h.name, err)
				cancel()
			}
		})
	}
	all.Go(func() { d.orchestrate(ctx) })
	all.Go(func() { d.submitAll(ctx) })
	if !o.HandsOff {
		all.Go(func() { d.decideAll(ctx) })
	}
	all.Wait()
	close(faults)
	var errs []error
	for err := range faults {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// demo is one that runs.
type demo struct {
	Options
	api *api.Client
	// draw is of the stories, judge of the decisions about them.
	draw, judge *rand.Rand
	// made is the number in the key of the last job.
	made int
	// plans says that there is an orchestrator for them.
	plans atomic.Bool
}

// work runs one of the workers. When the demo ends, so does its work.
func (d *demo) work(ctx context.Context, name string, seats int) error {
	state := filepath.Join(d.Dir, "workers", name)
	log := d.Log.With("host", name)
	found, err := repos.Open(repos.Options{Dir: filepath.Join(d.Dir, "repos"), State: state, Log: log,
		Author: repos.Identity{Name: name, Email: name + "@fleetboard.invalid"}})
	if err != nil {
		return err
	}
	return worker.Run(
		ctx,
		ctx,
		worker.Options{Server: d.Server, Enrolment: d.Enrolment, Name: name, Factory: name, State: found.State, Repos: found,
			Engines: []engines.Engine{engines.Scripted()}, Seats: seats, Lease: time.Minute, Beat: 5 * time.Second, Log: log},
	)
}

// furnish makes the products and the budgets, where they are not there yet.
func (d *demo) furnish(ctx context.Context) error {
	yes, limit := true, 12
	for product, names := range products {
		review := product != unreviewed
		if _, err := d.api.PutProductWithResponse(
			ctx,
			product,
			api.ProductSettings{Repos: &names, ReviewRequired: &review, ReviewLimit: &limit},
		); err != nil {
			return err
		}
	}
	dollars := map[string]string{"": "400", "payments": "60"}
	for product, limit := range dollars {
		b := api.NewBudget{
			Name:     "All work, by the day",
			Scope:    api.BudgetScopeWorkspace,
			Period:   api.BudgetPeriodDay,
			LimitUSD: &limit,
			Hard:     &yes,
		}
		if product != "" {
			b.Name, b.Scope, b.Product = "Payments, by the day", api.BudgetScopeProduct, &product
		}
		if _, err := d.api.CreateBudgetWithResponse(ctx, b); err != nil && !isConflict(err) {
			return err
		}
	}
	return nil
}

// lastMade returns the number of the last job that an earlier demo made on this server; 0 where
// there was none.
func (d *demo) lastMade(ctx context.Context) (int, error) {
	var cursor *string
	for {
		newest, prefix, most := api.ListJobsParamsSortCreated, keyPrefix, 200
		page, err := d.api.ListJobsWithResponse(ctx, &api.ListJobsParams{Q: &prefix, Sort: &newest, Limit: &most, Cursor: cursor})
		if err != nil {
			return 0, err
		}
		for _, j := range page.JSON200.Items {
			if n, ok := strings.CutPrefix(j.Key, keyPrefix); ok {
				if made, err := strconv.Atoi(n); err == nil {
					return made, nil
				}
			}
		}
		if page.JSON200.NextCursor == "" {
			return 0, nil
		}
		cursor = &page.JSON200.NextCursor
	}
}

// isConflict reports whether something is there already.
func isConflict(err error) bool {
	var p *api.Error
	return errors.As(err, &p) && (p.Status == 409 || p.Status == 422)
}

// submitAll fills the board at once, and then submits a story after another.
func (d *demo) submitAll(ctx context.Context) {
	for range 4 {
		d.submit(ctx)
	}
	for n := 0; signal.Sleep(ctx, signal.Jitter(d.Pace, 0.5)) == nil; n++ {
		d.submit(ctx)
		if n%planEvery == 0 && d.plans.Load() {
			d.plan(ctx)
		}
	}
}

// submit submits the jobs of a story together.
func (d *demo) submit(ctx context.Context) {
	jobs := d.story()
	if _, err := d.api.CreateJobsWithResponse(ctx, nil, api.NewJobs{Jobs: jobs}); err != nil && ctx.Err() == nil {
		d.Log.Warn("jobs were refused: " + err.Error())
	}
}

// decideAll does from time to time what waits for a person.
func (d *demo) decideAll(ctx context.Context) {
	for signal.Sleep(ctx, signal.Jitter(2*d.Pace, 0.5)) == nil {
		if err := d.decide(ctx); err != nil && ctx.Err() == nil {
			d.Log.Warn("a decision was refused: " + err.Error())
		}
	}
}

// decide answers a question, and approves or sends back what is in review. Some stay, so
// that whoever looks has something to decide.
func (d *demo) decide(ctx context.Context) error {
	waiting := []api.JobStatus{api.JobStatusInReview, api.JobStatusBlocked, api.JobStatusApproved}
	found, err := d.api.ListJobsWithResponse(ctx, &api.ListJobsParams{Status: &waiting})
	if err != nil {
		return err
	}
	reviews := 0
	for _, j := range found.JSON200.Items {
		switch {
		case j.Status == api.JobStatusApproved:
			_, err = d.api.MergeJobWithResponse(ctx, j.Key, api.MergeAction{})
		case j.Question != "" && j.Status == api.JobStatusBlocked && d.judge.IntN(2) == 0:
			_, err = d.api.AnswerJobWithResponse(ctx, j.Key, api.AnswerAction{Answer: "Yes, keep the old one for a month."})
		case j.Status == api.JobStatusInReview:
			if reviews++; reviews > 2 {
				err = d.review(ctx, j)
			}
		}
		if err != nil && !isConflict(err) {
			return err
		}
	}
	return nil
}

// review approves most work, and sends some back.
func (d *demo) review(ctx context.Context, j api.Job) error {
	if d.judge.IntN(5) > 0 {
		_, err := d.api.ApproveJobWithResponse(ctx, j.Key, api.ApproveAction{})
		return err
	}
	_, err := d.api.RejectJobWithResponse(ctx, j.Key, api.ReasonedAction{Reason: "Please add a test for the empty case."})
	return err
}
