package dispatch_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// The benchmarks go through the services, without HTTP, on the tests' PostgreSQL
// (which does not wait for the disk), with a fixed number of agents that call at
// once. Beside the time they report calls a second, and how many transactions a
// call costs where calls are answered together.

// callers are how many call at once.
var callers = []int{1, 8, 64}

// most is how many leases an agent can have.
const most = 100

// office is a workspace with agents, and the number of transactions that its calls
// took.
type office struct {
	*testWorkspace
	b            *testing.B
	agents       []tenancy.Principal
	transactions int64 // before what is measured
}

// newOffice has as many agents as call at once, and so many that they can hold all
// jobs of the benchmark.
func newOffice(b *testing.B, together int) *office {
	b.Helper()
	d := dbtest.New(b)
	o := &office{testWorkspace: inWorkspace(b, d, dbfactory.Workspace(b, d)), b: b}
	for i := range max(together, (b.N+most-1)/most) {
		o.agents = append(o.agents, o.Agent(fmt.Sprint("claude-", i)))
	}
	return o
}

// agentOf returns the agent of one call: those that are under way at once have others.
func (o *office) agentOf(call int) tenancy.Principal { return o.agents[call%len(o.agents)] }

// make makes n jobs.
func (o *office) make(n int) {
	o.b.Helper()
	for made := 0; made < n; made += jobs.MaxBatch {
		list := make([]jobs.New, min(jobs.MaxBatch, n-made))
		for i := range list {
			list[i] = jobs.New{Spec: jobs.Spec{Title: fmt.Sprint("job ", made+i)}}
		}
		if _, err := o.Jobs.Create(o.Ctx, o.Owner, nil, list...); err != nil {
			o.b.Fatal(err)
		}
	}
}

// hand gives the agents n jobs in turn: the job of each call.
func (o *office) hand(n int) []jobs.Job {
	o.b.Helper()
	o.make(n)
	held := make([]jobs.Job, n)
	for i := range min(n, len(o.agents)) {
		share := (n - i + len(o.agents) - 1) / len(o.agents)
		got, err := o.Dispatch.Claim(o.Ctx, o.agents[i], claim.Request{Max: share})
		if err != nil || len(got.Jobs) != share {
			o.b.Fatalf("claim: %d jobs of %d, %v", len(got.Jobs), share, err)
		}
		for at, j := range got.Jobs {
			held[i+at*len(o.agents)] = j
		}
	}
	return held
}

// measure makes b.N calls, so many at once, and reports what a second and a call are.
func (o *office) measure(together int, unit string, call func(i int) error) {
	o.b.Helper()
	var next atomic.Int64
	var group errgroup.Group
	o.transactions = o.Dispatch.Transactions()
	o.b.ReportAllocs()
	o.b.ResetTimer()
	for range together {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < o.b.N; i = int(next.Add(1)) - 1 {
				if err := call(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	o.b.StopTimer()
	if err != nil {
		o.b.Fatal(err)
	}
	o.b.ReportMetric(float64(o.b.N)/o.b.Elapsed().Seconds(), unit)
	o.b.ReportMetric(float64(o.Dispatch.Transactions()-o.transactions)/float64(o.b.N), "tx/call")
}

// forEach runs a benchmark for each number of callers.
func forEach(b *testing.B, run func(b *testing.B, together int)) {
	for _, n := range callers {
		b.Run(fmt.Sprint("together=", n), func(b *testing.B) { run(b, n) })
	}
}

// BenchmarkClaims takes one job a call.
func BenchmarkClaims(b *testing.B) {
	forEach(b, func(b *testing.B, together int) {
		o := newOffice(b, together)
		o.make(b.N)
		o.measure(together, "jobs/s", func(i int) error {
			got, err := o.Dispatch.Claim(o.Ctx, o.agentOf(i), claim.Request{})
			if err == nil && len(got.Jobs) != 1 {
				err = fmt.Errorf("a claim gave %d jobs (%s)", len(got.Jobs), got.Reason)
			}
			return err
		})
	})
}

// BenchmarkCompletions hands one job in a call.
func BenchmarkCompletions(b *testing.B) {
	forEach(b, func(b *testing.B, together int) {
		o := newOffice(b, together)
		held := o.hand(b.N)
		o.measure(together, "jobs/s", func(i int) error {
			_, err := o.Dispatch.Complete(o.Ctx, o.agentOf(i), ref(held[i]), report.Completion{Summary: "done"})
			return err
		})
	})
}

// BenchmarkHeartbeats sends the heartbeats of agents with a lease each. The runs
// of a workspace are apart by design, so one agent alone waits for its next.
func BenchmarkHeartbeats(b *testing.B) {
	forEach(b, func(b *testing.B, together int) {
		o := newOffice(b, together)
		held := o.hand(len(o.agents))
		o.measure(together, "calls/s", func(i int) error {
			who, on := o.agentOf(i), held[i%len(held)]
			answer, err := o.Dispatch.Heartbeat(o.Ctx, who, report.Heartbeat{Agent: who.Name, BootID: "boot-1", Status: "working",
				Leases: []report.HeartbeatLease{{Job: on.Key, Epoch: on.Epoch}}})
			if err == nil && len(answer.Leases) != 1 {
				err = fmt.Errorf("a heartbeat was answered with %d leases", len(answer.Leases))
			}
			return err
		})
	})
}

// BenchmarkProgress reports on one lease a call.
func BenchmarkProgress(b *testing.B) {
	forEach(b, func(b *testing.B, together int) {
		o := newOffice(b, together)
		held := o.hand(len(o.agents))
		o.measure(together, "calls/s", func(i int) error {
			percent, step := i%101, fmt.Sprint("step ", i)
			_, err := o.Dispatch.Progress(o.Ctx, o.agentOf(i), ref(held[i%len(held)]), report.Progress{Percent: &percent, Step: &step})
			return err
		})
	})
}

// BenchmarkUsage reports one message a call.
func BenchmarkUsage(b *testing.B) {
	forEach(b, func(b *testing.B, together int) {
		o := newOffice(b, together)
		held := o.hand(len(o.agents))
		o.measure(together, "calls/s", func(i int) error {
			line := report.UsageLine{Lease: ref(held[i%len(held)]), Entry: spend.Entry{ID: fmt.Sprint("message-", i), Provider: "anthropic",
				Model: "claude-sonnet-4-5", Input: 1, Output: 10, CacheRead: 100, CacheWrite: 1000, At: time.Now()}}
			told, err := o.Dispatch.RecordUsage(o.Ctx, o.agentOf(i), []report.UsageLine{line})
			if err == nil && told[0].Refused != nil {
				err = told[0].Refused
			}
			return err
		})
	})
}

// BenchmarkClaimAndComplete takes one job and hands it in, with lease, attempt
// and events.
func BenchmarkClaimAndComplete(b *testing.B) {
	d := dbtest.New(b)
	o := &office{testWorkspace: inWorkspace(b, d, dbfactory.Workspace(b, d)), b: b}
	o.make(b.N)
	agents := make(chan tenancy.Principal, 64)
	for i := range cap(agents) {
		agents <- o.Agent(fmt.Sprint("claude-", i))
	}
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		agent := <-agents
		for pb.Next() {
			got, err := o.Dispatch.Claim(o.Ctx, agent, claim.Request{})
			if err != nil || len(got.Jobs) != 1 {
				b.Errorf("claim: %d jobs, %v", len(got.Jobs), err)
				return
			}
			if _, err := o.Dispatch.Complete(o.Ctx, agent, ref(got.Jobs[0]), report.Completion{}); err != nil {
				b.Errorf("complete: %v", err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}
