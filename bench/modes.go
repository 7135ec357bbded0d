package main

import (
	"context"

	"github.com/fleetboard/fleetboard/bench/routing"
)

const (
	modeJobs = 10_000
	modeRuns = 6
	// modeLimit is how long jobs may take in targeted mode, against pull.
	modeLimit = 1.03
)

func init() {
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
		s.sayf("%s: targeted %.1f s, %d clones, %d lost; pull %.1f s, %d clones, %d lost; targeted is faster by %.1f %%", w.Name,
			c.Targeted.Mean.Seconds(), c.Targeted.Clones, c.Targeted.Lost, c.Pull.Mean.Seconds(), c.Pull.Clones, c.Pull.Lost, 100*c.Gain())
		f := versus("from arrival to end, "+w.Name+": targeted; pull", c.Targeted.Mean.Seconds(), c.Pull.Mean.Seconds(), "s", n*modeRuns)
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
