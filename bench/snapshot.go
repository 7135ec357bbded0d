package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	snapshotHeld     = 30 * time.Second
	snapshotHeldLong = 5 * time.Minute
	// snapshotTrial are the jobs that show how many have to be laid ready, which
	// are snapshotSpare times as many as are done in the time, or snapshotLeast a
	// second where the trial was too short to show it.
	snapshotTrial = 20_000
	snapshotSpare = 1.6
	snapshotLeast = 4000
	snapshotLimit = 0.7
)

func init() {
	register(line{"snapshot", "claim and complete while another session holds a snapshot open", snapshot})
}

// snapshot measures claims and completions, one job a request, while a session
// holds a snapshot open, so that no dead row can be removed, against the same
// without it, each with a server of its own. The end of the time is reported apart:
// what was left behind weighs most there.
func snapshot(ctx context.Context, s *environment) ([]figure, error) {
	lasts := s.lasting(snapshotHeld)
	if s.long {
		lasts = s.lasting(snapshotHeldLong)
	}
	free, err := s.workBeside(ctx, lasts, false)
	if err != nil {
		return nil, err
	}
	held, err := s.workBeside(ctx, lasts, true)
	if err != nil {
		return nil, err
	}
	all := versus(fmt.Sprintf("claim + complete beside a snapshot held for %s; without", lasts), held.all(), free.all(), "jobs/s",
		held.jobs())
	end := versus("the same, the last tenth of the time", held.last(), free.last(), "jobs/s", held.jobs())
	all.AtLeast, end.AtLeast = snapshotLimit, snapshotLimit
	return []figure{all, end}, nil
}

// pace is how many jobs were done in each tenth of a time.
type pace struct {
	tenth time.Duration
	done  [10]int64
}

func (p *pace) jobs() (n int) {
	for _, k := range p.done {
		n += int(k)
	}
	return n
}

func (p *pace) all() float64  { return float64(p.jobs()) / (10 * p.tenth).Seconds() }
func (p *pace) last() float64 { return float64(p.done[9]) / p.tenth.Seconds() }

// workBeside lets the agents work for a time, beside a held snapshot or not.
func (s *environment) workBeside(ctx context.Context, lasts time.Duration, held bool) (p *pace, err error) {
	err = s.withWeb(ctx, func(w *web) (err error) {
		rate, err := w.drain(ctx, s.sized(snapshotTrial, 2*claimAgents), way{})
		if err != nil {
			return err
		}
		if err := w.fill(ctx, load{ready: int(max(snapshotLeast, snapshotSpare*rate) * lasts.Seconds())}); err != nil {
			return err
		}
		agents, err := w.register(ctx, claimAgents, 1)
		if err != nil {
			return err
		}
		release := func() error { return nil }
		if held {
			if release, err = w.hold(ctx); err != nil {
				return err
			}
		}
		defer func() { err = errors.Join(err, release()) }()
		observed, err := w.observe(ctx)
		if err != nil {
			return err
		}
		p, err = workFor(ctx, agents, lasts)
		return errors.Join(err, observed(ctx))
	})
	if err == nil {
		s.sayf("a snapshot is held %t: %.0f jobs/s, %.0f in the last tenth", held, p.all(), p.last())
	}
	return p, err
}

// hold opens a snapshot of the server's database; release lets it go and makes
// sure that it was there all the time.
func (d ownDatabase) hold(ctx context.Context) (release func() error, err error) {
	owner, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	var before int
	for _, sql := range []string{`BEGIN ISOLATION LEVEL REPEATABLE READ`, `SET LOCAL idle_in_transaction_session_timeout = 0`} {
		if _, err := owner.Exec(ctx, sql); err != nil {
			return nil, errors.Join(err, owner.Close(ctx))
		}
	}
	const waiting = `SELECT count(*) FROM job_ready`
	if err := owner.QueryRow(ctx, waiting).Scan(&before); err != nil {
		return nil, errors.Join(err, owner.Close(ctx))
	}
	return func() error {
		var after int
		err := owner.QueryRow(ctx, waiting).Scan(&after)
		if err == nil && after != before {
			err = fmt.Errorf("the snapshot saw %d ready jobs and then %d", before, after)
		}
		return errors.Join(err, owner.Close(ctx))
	}, nil
}

// workFor lets agents claim and complete jobs, one a request.
func workFor(ctx context.Context, agents []*agent, lasts time.Duration) (*pace, error) {
	p := &pace{tenth: lasts / 10}
	var done [10]atomic.Int64
	group, within := errgroup.WithContext(ctx)
	began := time.Now()
	for _, a := range agents {
		group.Go(func() error {
			defer a.close()
			for within.Err() == nil {
				worked, err := a.work(way{})
				if err != nil {
					return err
				}
				at := int(time.Since(began) / p.tenth)
				if at >= len(done) {
					return nil
				}
				if worked == 0 {
					return errors.New("the jobs came to an end before the time")
				}
				done[at].Add(1)
			}
			return nil
		})
	}
	err := group.Wait()
	for i := range done {
		p.done[i] = done[i].Load()
	}
	return p, err
}
