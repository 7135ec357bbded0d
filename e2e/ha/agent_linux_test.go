package ha

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/callertest"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	seats = 20 // agents of a factory
	// waitSeconds is how long a claim waits for a job.
	waitSeconds = 20
	beatEvery   = 10 * time.Second
	// provider and model have no price: what an agent says that they cost is what they cost.
	provider, model = "kestrel", "kestrel-1"
)

// caller calls the API by way of the proxy.
type caller struct {
	net    *callertest.Network
	ledger *ledger
}

// newCaller returns a caller with the token of the moment.
func newCaller(url string, l *ledger, token func() string) (caller, error) {
	net, err := callertest.New([]string{url}, token, func(status int, body []byte) {
		// What HAProxy says of a server that died is no answer of Fleetboard.
		if json.Valid(body) {
			l.fault("a call was answered %d: %.300s", status, body)
		}
	})
	return caller{net, l}, err
}

// insist repeats a call until it is answered, and waits where there were too many. begun is when
// the try began that was answered.
func insist[R callertest.Reply](ctx context.Context, c caller, limit time.Duration, do callertest.Call[R]) (answer R, begun time.Time, err error) {
	for {
		answer, err = callertest.Insist(ctx, c.net, limit, func(ctx context.Context, client *api.ClientWithResponses) (R, error) {
			begun = time.Now()
			return do(ctx, client)
		})
		if err != nil || answer.StatusCode() != http.StatusTooManyRequests {
			return answer, begun, err
		}
		c.ledger.limited.Add(1)
		if err := callertest.Rest(ctx, time.Second+rand.N(time.Second)); err != nil {
			return answer, begun, err
		}
	}
}

// agent works on one job after another, and reports what each cost.
type agent struct {
	caller

	name, boot string
	work       time.Duration // that a job takes
	peers      int           // how many agents there are
	token      atomic.Pointer[string]

	mu   sync.Mutex
	held *api.ProgressReport // the lease that it holds, for heartbeats
}

func newAgent(c *cluster, l *ledger, n, peers int, work time.Duration, enrolment string) (*agent, error) {
	a := &agent{name: agentName(n), boot: fmt.Sprintf("boot-%x", rand.Uint64()), work: work, peers: peers}
	a.token.Store(&enrolment)
	var err error
	a.caller, err = newCaller(c.api, l, func() string { return *a.token.Load() })
	return a, err
}

func agentName(n int) string { return fmt.Sprintf("agent-%04d", n) }

// run works until working ends, and sends heartbeats until its last job has. Its first job takes
// any part of the time of the others, so that the ends of jobs are spread from the beginning.
// Once hurry has ended jobs take no time.
func (a *agent) run(ctx, working, hurry context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_ = callertest.Rest(ctx, rand.N(beatEvery))
		callertest.Every(ctx, beatEvery, func() { a.beat(ctx) })
	}()
	for part := rand.Float64(); working.Err() == nil; {
		for _, job := range a.claim(working) {
			a.do(ctx, hurry, job, time.Duration(part*float64(a.work))) // what was claimed is brought to its end
			part = 0.5 + rand.Float64()
		}
	}
}

// register registers the n-th agent, and reports whether that was answered.
func (a *agent) register(ctx context.Context, n int) bool {
	most := seats
	body := api.Registration{BootID: a.boot, Factory: api.FactoryInfo{Name: fmt.Sprintf("factory-%02d", n/seats), Seats: &most}}
	answer, _, err := insist(ctx, a.caller, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.RegisterAgentResponse, error) {
		return c.RegisterAgentWithResponse(ctx, a.name, body)
	})
	if err != nil {
		return false
	}
	if answer.JSON200 == nil {
		a.ledger.fault("%s was answered %d to its registration: %s", a.name, answer.StatusCode(), answer.Body)
		return false
	}
	a.token.Store(&answer.JSON200.Token)
	return true
}

// beat is one heartbeat. A lost one is not repeated; the next one comes soon.
func (a *agent) beat(ctx context.Context) {
	leases := []api.ProgressReport{}
	a.mu.Lock()
	if a.held != nil {
		leases = append(leases, *a.held)
	}
	a.mu.Unlock()
	answer, err := callertest.Once(ctx, a.net, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.HeartbeatResponse, error) {
		return c.HeartbeatWithResponse(ctx, a.name, api.Heartbeat{BootID: a.boot, Status: api.HeartbeatStatusWorking, Leases: &leases})
	})
	if err == nil && answer.JSON200 != nil && answer.JSON200.Token != nil {
		a.token.Store(answer.JSON200.Token)
	}
}

func (a *agent) hold(report *api.ProgressReport) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held = report
}

// claim waits for a job. Where the answer is lost the same request is made again, which gives the
// same lease.
func (a *agent) claim(ctx context.Context) []api.Job {
	body := api.ClaimRequest{RequestID: new(fmt.Sprintf("%x", rand.Uint64())), WaitSeconds: new(waitSeconds)}
	answer, begun, err := insist(ctx, a.caller, waitSeconds*time.Second+callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.ClaimJobsResponse, error) {
		return c.ClaimJobsWithResponse(ctx, body)
	})
	switch {
	case err != nil || answer.StatusCode() == http.StatusNoContent:
		return nil
	case answer.JSON200 == nil:
		a.ledger.fault("%s was answered %d to a claim: %s", a.name, answer.StatusCode(), answer.Body)
		return nil
	}
	for _, job := range answer.JSON200.Jobs {
		a.ledger.claimed(lease{job.Key, job.Lease.Epoch}, a.name, begun)
	}
	return answer.JSON200.Jobs
}

// do works on a job for a time: a report, a message to another agent, and the end, each after a
// third of it.
func (a *agent) do(ctx, hurry context.Context, job api.Job, work time.Duration) {
	l := lease{job.Key, job.Lease.Epoch}
	a.hold(&api.ProgressReport{Job: l.job, Epoch: l.epoch})
	defer a.hold(nil)
	third := func() { _ = callertest.Rest(hurry, work/3) }
	third()
	a.progress(ctx, l)
	third()
	a.send(ctx)
	third()
	a.complete(ctx, l)
}

func (a *agent) progress(ctx context.Context, l lease) {
	entries := a.ledger.spend(l, "progress")
	body := api.ProgressReport{Job: l.job, Epoch: l.epoch, ProgressPercent: new(33), CurrentStep: new("writes a test"), Usage: &entries}
	answer, _, err := insist(ctx, a.caller, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.ReportProgressResponse, error) {
		return c.ReportProgressWithResponse(ctx, body)
	})
	switch {
	case err != nil:
	case answer.StatusCode() == http.StatusOK:
		a.ledger.booked(entries)
	default:
		a.ledger.refused("progress", l, answer)
	}
}

func (a *agent) complete(ctx context.Context, l lease) {
	entries := a.ledger.spend(l, "end")
	body := api.Completion{Job: l.job, Epoch: l.epoch, Summary: new("Done, with a test."), Usage: &entries}
	answer, begun, err := insist(ctx, a.caller, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.CompleteJobResponse, error) {
		return c.CompleteJobWithResponse(ctx, body)
	})
	switch {
	case err != nil:
	case answer.StatusCode() == http.StatusOK:
		a.ledger.booked(entries)
		a.ledger.completed(l, a.name, begun)
	default:
		a.ledger.refused("completion", l, answer)
	}
}

// send sends a message to another agent.
func (a *agent) send(ctx context.Context) {
	id := ids.New().String()
	a.ledger.sending(id)
	body := api.NewMessage{ID: &id, Type: "custom.note", To: api.NewMessageAddress{Agent: new(agentName(rand.IntN(a.peers)))},
		Payload: api.FreeForm(fmt.Sprintf(`{"note": %q}`, id))}
	answer, _, err := insist(ctx, a.caller, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.SendMessageResponse, error) {
		return c.SendMessageWithResponse(ctx, body)
	})
	switch {
	case err != nil:
	case answer.JSON200 != nil || answer.JSON201 != nil:
		a.ledger.sent(id)
	default:
		a.ledger.fault("%s was answered %d to a message: %s", a.name, answer.StatusCode(), answer.Body)
	}
}
