package worker

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"fleetboard/handlers/api/apiclient"
	"fleetboard/internal/client"
	"fleetboard/internal/signal"
)

// register says who the worker is and what it offers, takes the token that it is given, and
// returns what was offered.
func (w *Worker) register(ctx context.Context) (apiclient.FactoryInfo, error) {
	factory, err := w.factory(ctx)
	if err != nil {
		return factory, err
	}
	beat, stale := int(w.Beat.Seconds()), max(30*int(w.Beat.Seconds()), int(w.Lease.Seconds()))
	answer, err := w.enrol.RegisterAgentWithResponse(ctx, w.Name, apiclient.Registration{BootID: w.bootID, Factory: factory,
		MaxConcurrentJobs: &w.Seats, HeartbeatIntervalSeconds: &beat, StaleAfterSeconds: &stale, Model: text(w.Model),
		Roles: some(w.Roles)})
	if err != nil {
		return factory, err
	}
	w.setToken(answer.JSON200.Token)
	return factory, nil
}

func (w *Worker) setToken(token string) {
	w.api.SetToken(token)
	w.beats.SetToken(token)
	w.mail.api.SetToken(token)
	w.mu.Lock()
	w.token = token
	w.mu.Unlock()
}

const (
	// describeEvery is how often the worker looks for new repositories below its directory,
	// and reachEvery for those of products that it could clone.
	describeEvery = 30 * time.Second
	reachEvery    = 5 * time.Minute
)

// descriptions keep up to date what heartbeats say that the host offers, until ctx ends.
func (w *Worker) descriptions(ctx context.Context) {
	var reached time.Duration
	for {
		if now := sinceBoot(); len(w.Repos.Clone) > 0 && (reached == 0 || now-reached > reachEvery) {
			reached = now
			w.Repos.Reach(ctx, w.namesOfProducts(ctx))
		}
		factory, err := w.factory(ctx)
		if err != nil && ctx.Err() == nil {
			w.Log.Warn("the repositories could not be looked at: " + err.Error())
		}
		if err == nil {
			w.mu.Lock()
			w.offers = &factory
			w.mu.Unlock()
		}
		if signal.Sleep(ctx, describeEvery) != nil {
			return
		}
	}
}

// namesOfProducts are the repositories that jobs may be about, as far as the server says.
func (w *Worker) namesOfProducts(ctx context.Context) (names []string) {
	var cursor string
	for {
		page, err := w.api.ListProductsWithResponse(ctx, &apiclient.ListProductsParams{Cursor: text(cursor)})
		if err != nil {
			if ctx.Err() == nil {
				w.Log.Warn("the repositories of products are unknown: " + err.Error())
			}
			return names
		}
		for _, p := range page.JSON200.Items {
			names = append(names, p.Repos...)
		}
		if cursor = page.JSON200.NextCursor; cursor == "" {
			return names
		}
	}
}

// factory describes this host.
func (w *Worker) factory(ctx context.Context) (apiclient.FactoryInfo, error) {
	found, err := w.Repos.Discover(ctx)
	if err != nil {
		return apiclient.FactoryInfo{}, err
	}
	repos := make([]apiclient.Repo, 0, len(found))
	for _, r := range found {
		repos = append(repos, apiclient.Repo{Name: r.Name, URL: text(r.URL), DefaultBranch: text(r.DefaultBranch)})
	}
	host, _ := os.Hostname() // a host without a name is known by its factory's
	offered := slices.Concat(w.host.Capabilities, w.Labels)
	if w.Forges.Ready() {
		offered = append(offered, canOpen)
	}
	capabilities := slices.Compact(slices.Sorted(slices.Values(offered)))
	return apiclient.FactoryInfo{Name: w.Factory, OS: &w.host.OS, Host: text(host), Engines: &w.host.Engines,
		Capabilities: &capabilities, Repos: &repos, Seats: &w.Seats}, nil
}

// enrolled calls until the call is not refused for its token: a token that has ended is
// replaced by registering again, once.
func (w *Worker) enrolled(ctx context.Context, call func() error) error {
	err := call()
	if !refused(err, apiclient.ProblemCodeTokenExpired, apiclient.ProblemCodeTokenInvalid, apiclient.ProblemCodeUnauthenticated) {
		return err
	}
	if _, err := w.register(ctx); err != nil {
		return err
	}
	return call()
}

// refused reports whether a call was refused with one of the codes.
func refused(err error, codes ...apiclient.ProblemCode) bool {
	var p *client.Problem
	return errors.As(err, &p) && slices.Contains(codes, p.Code)
}

// decided reports whether the server has said what became of a call: asking again would
// bring the same.
func decided(err error) bool {
	var p *client.Problem
	return err == nil || errors.As(err, &p) && p.Status < 500 && p.Status != 429 && p.Status != 401 && p.Status != 408
}

// some is nil for an empty list, as the API leaves fields out.
func some(list []string) *[]string {
	if len(list) == 0 {
		return nil
	}
	return &list
}

// text is nil for "", as the API leaves fields out.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
