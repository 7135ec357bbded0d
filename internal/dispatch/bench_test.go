package dispatch_test

import (
	"fmt"
	"testing"

	"fleetboard/db/dbfactory"
	"fleetboard/db/dbtest"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// BenchmarkClaimAndComplete takes one job and hands it in, with lease, attempt
// and events: through the services, without HTTP, on the tests' PostgreSQL
// (which does not wait for the disk).
func BenchmarkClaimAndComplete(b *testing.B) {
	d := dbtest.New(b)
	w := inWorkspace(b, d, dbfactory.Workspace(b, d))
	for made := 0; made < b.N; made += jobs.MaxBatch {
		list := make([]jobs.New, min(jobs.MaxBatch, b.N-made))
		for i := range list {
			list[i] = jobs.New{Title: fmt.Sprint("job ", made+i)}
		}
		if _, err := w.jobs.Create(w.ctx, w.owner, jobs.Origin{}, list...); err != nil {
			b.Fatal(err)
		}
	}
	agents := make(chan tenancy.Principal, 64)
	for i := range cap(agents) {
		agents <- w.agent(fmt.Sprint("claude-", i))
	}
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		agent := <-agents
		for pb.Next() {
			got, err := w.dispatch.Claim(w.ctx, agent, dispatch.ClaimRequest{})
			if err != nil || len(got.Jobs) != 1 {
				b.Errorf("claim: %d jobs, %v", len(got.Jobs), err)
				return
			}
			if _, err := w.dispatch.Complete(w.ctx, agent, ref(got.Jobs[0]), dispatch.Completion{}); err != nil {
				b.Errorf("complete: %v", err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}
