package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	flatJobs   = 1_000_000
	flatFew    = 1000
	flatFront  = 100_000
	flatAgents = 8
	flatRounds = 20
	flatClaims = 480 // of a round
	// flatLimit is how much longer a claim may take where there are many jobs.
	flatLimit = 1.5
)

func init() {
	register(line{"flat", "how long a claim takes with many jobs against few", flat})
}

// flat measures the 99th percentile of a claim over HTTP with as many ready,
// waiting and completed jobs against a thousand ready ones: two servers, by turns,
// so that what else the machine does meets both. First with statistics that were taken when
// there were a thousand too, then with their own, and with jobs in front that nobody
// there can take.
func flat(ctx context.Context, s *environment) (figures []figure, err error) {
	size := s.sized(flatJobs/10, flatFew)
	if s.long {
		size = s.sized(flatJobs, flatFew)
	}
	err = s.withWeb(ctx, func(few *web) error {
		return s.withWeb(ctx, func(many *web) error {
			figures, err = s.compareSizes(ctx, few, many, size)
			return err
		})
	})
	return figures, err
}

// setup is a state of the database with many jobs.
type setup struct {
	name   string
	before func(context.Context, *web) error // sets the setup
}

func (s *environment) compareSizes(ctx context.Context, few, many *web, size int) ([]figure, error) {
	agents := map[*web][]*agent{}
	for _, w := range []*web{few, many} {
		if err := w.fill(ctx, load{ready: flatFew}); err != nil {
			return nil, err
		}
		if w == many {
			if err := w.outgrow(ctx, load{ready: size - flatFew, waiting: size, completed: size}); err != nil {
				return nil, err
			}
		}
		var err error
		if agents[w], err = w.register(ctx, flatAgents, 1); err != nil {
			return nil, err
		}
		if _, err := w.claimSome(ctx, agents[w], s.sized(flatClaims, flatAgents)); err != nil {
			return nil, err // and nothing of the first claims is measured
		}
	}
	front := s.sized(flatFront, flatFew)
	var figures []figure
	for _, sc := range []setup{
		{name: fmt.Sprintf("claim p99, %d ready + waiting + completed each, statistics of 1000 jobs; 1000 ready", size),
			before: func(context.Context, *web) error { return nil }},
		{name: "the same with their own statistics", before: func(ctx context.Context, w *web) error { return w.countAgain(ctx) }},
		{name: fmt.Sprintf("the same with %d ready jobs in front that nobody serves", front),
			before: func(ctx context.Context, w *web) error {
				return w.fill(ctx, load{front: front})
			}},
	} {
		f, err := s.measureSetup(ctx, sc, few, many, agents)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sc.name, err)
		}
		figures = append(figures, f)
	}
	return figures, nil
}

// measureSetup measures both by turns, the one first that was last.
func (s *environment) measureSetup(ctx context.Context, sc setup, few, many *web, agents map[*web][]*agent) (figure, error) {
	rounds, each := s.sized(flatRounds, 2), s.sized(flatClaims, flatAgents)
	took := map[*web][]time.Duration{}
	if err := sc.before(ctx, many); err != nil {
		return figure{}, err
	}
	for round := range rounds {
		for _, w := range [][]*web{{few, many}, {many, few}}[round%2] {
			if err := w.topUp(ctx, each); err != nil {
				return figure{}, err
			}
			list, err := w.claimSome(ctx, agents[w], each)
			if err != nil {
				return figure{}, err
			}
			took[w] = append(took[w], list...)
		}
	}
	f := versus(sc.name, ms(percentile(took[many], 99)), ms(percentile(took[few], 99)), "ms", len(took[many]))
	f.AtMost = flatLimit
	s.sayf("%s: p50 %.2f and %.2f ms, p99 %.2f and %.2f ms", sc.name, ms(percentile(took[many], 50)), ms(percentile(took[few], 50)),
		f.Ours, f.Other)
	return f, nil
}

// topUp replaces the jobs that a round takes.
func (w *web) topUp(ctx context.Context, n int) error {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"title":"Job %d","capabilities":["bench:%d"]}`, i, i%servedLanes)
	}
	return w.submitThese(ctx, list)
}

// claimSome claims and completes n jobs one by one and gives the time of each claim.
func (w *web) claimSome(ctx context.Context, agents []*agent, n int) ([]time.Duration, error) {
	took := make([][]time.Duration, len(agents))
	group, within := errgroup.WithContext(ctx)
	for i, a := range agents {
		group.Go(func() error {
			for range n / len(agents) {
				if err := within.Err(); err != nil {
					return err
				}
				began := time.Now()
				taken, err := a.claim(a.taken[:0], 1)
				took[i] = append(took[i], time.Since(began))
				if err != nil || len(taken) != 1 {
					return errors.Join(err, fmt.Errorf("a claim gave %d jobs", len(taken)))
				}
				if err := a.complete(taken[0]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	var all []time.Duration
	for _, list := range took {
		all = append(all, list...)
	}
	return all, err
}

// outgrow adds jobs behind the back of the planner: no value is counted again, and
// tables are taken for a thousandth of what they are.
func (w *web) outgrow(ctx context.Context, l load) error {
	w.uncounted = true
	err := w.exec(ctx, eachTable("ALTER TABLE %I SET (autovacuum_enabled = false)"))
	if err == nil {
		err = w.fill(ctx, l)
	}
	if err != nil {
		return err
	}
	return w.exec(ctx,
		`UPDATE pg_class SET reltuples = reltuples / 1000 WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'i')
			AND reltuples > 0`)
}

// countAgain ends that.
func (w *web) countAgain(ctx context.Context) error {
	w.uncounted = false
	if err := w.exec(ctx, eachTable("ALTER TABLE %I RESET (autovacuum_enabled)")); err != nil {
		return err
	}
	return w.settle(ctx)
}

func eachTable(statement string) string {
	return fmt.Sprintf(`DO $$ DECLARE t name; BEGIN
		FOR t IN SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
		LOOP EXECUTE format('%s', t); END LOOP; END $$`, statement)
}
