package dispatch

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"fleetboard/internal/ids"
)

// CountTransactions counts from now on the transactions in which combined calls
// are answered. Nobody may call yet.
func (s *Service) CountTransactions() *atomic.Int64 {
	n := new(atomic.Int64)
	counted(s.looks, n)
	counted(s.ends, n)
	counted(s.beats, n)
	counted(s.reports, n)
	counted(s.usages, n)
	return n
}

func counted[In, Out any](c *combiner[In, Out], n *atomic.Int64) {
	run := c.run
	c.run = func(ctx context.Context, workspace ids.ID, list []*request[In, Out], patient bool) error {
		n.Add(1)
		return run(ctx, workspace, list, patient)
	}
}

// BenchmarkCombiner is what it costs to answer calls together, where a run does
// nothing: no database, no work.
func BenchmarkCombiner(b *testing.B) {
	for _, together := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("together=", together), func(b *testing.B) {
			var runs, next atomic.Int64
			c := newCombiner(func(context.Context, ids.ID, []*request[int, int], bool) error {
				runs.Add(1)
				return nil
			})
			workspace := ids.New()
			var group errgroup.Group
			b.ReportAllocs()
			b.ResetTimer()
			for range together {
				group.Go(func() error {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if _, err := c.do(b.Context(), workspace, int(i)); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if err := group.Wait(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric(float64(runs.Load())/float64(b.N), "runs/call")
		})
	}
}
