package main

import (
	"context"
	"fmt"
)

func init() {
	register(line{"servers", "claims and wake-ups of three servers on one database, against those of one", servers})
}

// moreServers are those beside the first one.
const moreServers = 2

// servers measures the same with one server and with three, which share the processors of this
// machine: what they lose is what sharing a database costs.
func servers(ctx context.Context, s *environment) ([]figure, error) {
	n, agents := s.sized(claimJobs, 2*claimAgents), s.sized(claimAgents, 20)
	var rates []float64
	var figures []figure
	for _, c := range []struct {
		count string
		more  int
	}{{"one server", 0}, {"three servers", moreServers}} {
		rate, err := s.drainOver(ctx, n, c.more)
		if err != nil {
			return nil, err
		}
		s.sayf("claim + complete with %s: %.0f jobs/s", c.count, rate)
		rates = append(rates, rate)
		times, err := wakeOne(ctx, s, agents, c.more)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("submit to claim answer, %s, %d agents waiting, ", c.count, agents)
		figures = append(figures,
			within(name+"p50", ms(percentile(times, 50)), 10, "ms", len(times)),
			within(name+"p99", ms(percentile(times, 99)), 50, "ms", len(times)))
	}
	return append(figures, versus("claim + complete with three servers; with one", rates[1], rates[0], "jobs/s", n)), nil
}

// drainOver lets agents work over a server and so many more until n jobs are done, and gives jobs
// a second.
func (s *environment) drainOver(ctx context.Context, n, more int) (rate float64, err error) {
	err = s.withWeb(ctx, func(w *web) (err error) {
		if err := w.add(ctx, more); err != nil {
			return err
		}
		rate, err = w.drain(ctx, n, way{})
		return err
	})
	return rate, err
}
