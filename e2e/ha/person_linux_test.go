package ha

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/callertest"
)

const (
	// products have a budget each.
	products = 20
	// submitters is how many jobs may be in the making at once.
	submitters = 8
)

func product(n int64) string { return fmt.Sprintf("product-%d", n%products) }

// person submits jobs.
type person struct{ caller }

// found makes the products and their budgets.
func (p person) found(ctx context.Context) error {
	for n := range int64(products) {
		answer, _, err := insist(ctx, p.caller, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.PutProductResponse, error) {
			return c.PutProductWithResponse(ctx, product(n), api.ProductSettings{})
		})
		if err != nil || answer.StatusCode() >= http.StatusBadRequest {
			return fmt.Errorf("a product: %w, %s", err, answer.Body)
		}
		budget := api.NewBudget{Name: product(n), Scope: api.BudgetScopeProduct, Product: new(product(n)), Period: api.BudgetPeriodOnce,
			LimitUSD: new("100000"), Hard: new(true), Unpriced: new(api.Allow)}
		made, _, err := insist(ctx, p.caller, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.CreateBudgetResponse, error) {
			return c.CreateBudgetWithResponse(ctx, budget)
		})
		if err != nil || made.StatusCode() >= http.StatusBadRequest {
			return fmt.Errorf("a budget: %w, %s", err, made.Body)
		}
	}
	return nil
}

// fill submits the first jobs, as fast as they are taken.
func (p person) fill(ctx context.Context, count int64) {
	var busy errgroup.Group
	busy.SetLimit(submitters)
	for n := range count {
		busy.Go(func() error { p.submit(ctx, n); return nil })
	}
	_ = busy.Wait() // submit reports to the ledger
}

// submitFor submits so many jobs a second until ctx ends, after those that there are.
func (p person) submitFor(ctx context.Context, after int64, perSecond float64) {
	var busy sync.WaitGroup
	var n atomic.Int64
	n.Store(after)
	for range submitters {
		busy.Go(func() {
			callertest.Every(ctx, time.Duration(submitters/perSecond*float64(time.Second)), func() { p.submit(ctx, n.Add(1)) })
		})
	}
	busy.Wait()
}

// submit creates one job, and insists until the answer says which.
func (p person) submit(ctx context.Context, n int64) {
	title := fmt.Sprint("job ", n)
	job := api.NewJob{Title: title, Product: new(product(n)), MaxLost: new(100)}
	params := &api.CreateJobParams{IdempotencyKey: new(fmt.Sprintf("%s %x", title, rand.Uint64()))}
	answer, _, err := insist(ctx, p.caller, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.CreateJobResponse, error) {
		return c.CreateJobWithResponse(ctx, params, job)
	})
	switch {
	case err != nil:
	case answer.JSON201 != nil:
		p.ledger.created(answer.JSON201.Key, title)
	case answer.JSON200 != nil:
		p.ledger.created(answer.JSON200.Key, title)
	default:
		p.ledger.fault("a job was answered %d: %s", answer.StatusCode(), answer.Body)
	}
}
