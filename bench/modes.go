package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/fleetboard/fleetboard/bench/routing"
)

const (
	modeJobs = 10_000
	modeRuns = 6
	// targetedLimit is what is left of the speed of claims.
	targetedLimit = 0.75
	// modeLimit is how long jobs may take in targeted mode, against pull.
	modeLimit = 1.03
)

func init() {
	register(line{"claims-targeted", "claim and complete over HTTP in mode targeted, against mode pull", claimTargeted})
	register(line{"modes", "how long jobs take in a simulated fleet where the best factory gets them, against whoever asks first", modes})
}

// modes simulates a fleet with three workloads, without a server: the mean time from a job's
// arrival to its end. Targeted becomes the default only if it wins on two and loses by no more
// than 3 % on any.
func modes(_ context.Context, s *environment) ([]figure, error) {
	n := s.sized(modeJobs, 500)
	var all []figure
	var compared []routing.Comparison
	for _, w := range routing.Workloads() {
		c := w.Compare(n, modeRuns)
		compared = append(compared, c)
		for _, r := range []struct {
			way string
			routing.Result
		}{{"pull", c.Pull}, {"targeted", c.Targeted}, {"targeted with offers", c.Offered}} {
			s.sayf("%s, %s: %.1f s, %d clones, %d lost, %d offers unheard", w.Name, r.way, r.Mean.Seconds(), r.Clones, r.Lost, r.Unheard)
		}
		f := versus("from arrival to end, "+w.Name+": targeted with offers; pull", c.Offered.Mean.Seconds(), c.Pull.Mean.Seconds(), "s",
			n*modeRuns)
		f.AtMost = modeLimit
		all = append(all, f)
	}
	if routing.Wins(compared) {
		s.sayf("targeted wins on two workloads at least and loses by more than 3 %% on none")
	} else {
		s.sayf("targeted does not win: pull stays the default")
	}
	return all, nil
}

// giveOut changes the mode in which jobs are given out.
func (w *web) giveOut(ctx context.Context, mode string) error {
	owner, err := w.first(ctx, "owner-token")
	if err != nil {
		return err
	}
	defer owner.close()
	_, err = owner.must(http.MethodPut, "/api/v1/dispatch", fmt.Appendf(nil, `{"mode":%q}`, mode), http.StatusOK)
	return err
}

// claimTargeted measures claims and completions of 64 agents, each of a factory of its own, in mode
// targeted and in mode pull, by turns: each mode twice, with half of the jobs.
func claimTargeted(ctx context.Context, s *environment) ([]figure, error) {
	n := s.sized(claimJobs/2, 2*claimAgents)
	took := map[string]float64{} // for a job
	for _, mode := range []string{"pull", "targeted", "targeted", "pull"} {
		rate, err := s.drain(ctx, n, way{mode: mode})
		if err != nil {
			return nil, err
		}
		took[mode] += 1 / rate
		s.sayf("in mode %s: %.0f jobs/s", mode, rate)
	}
	f := versus("claim + complete in mode targeted; in mode pull", 2/took["targeted"], 2/took["pull"], "jobs/s", 2*n)
	f.AtLeast = targetedLimit
	return []figure{f}, nil
}
