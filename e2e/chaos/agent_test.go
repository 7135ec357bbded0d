package chaos

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
)

// orders are what an agent's process is started with.
type orders struct {
	Name       string
	Servers    []string
	Enrolment  string // token
	Journal    string // path
	TTL        int    // of its leases, in seconds
	StaleAfter int    // dead after three times that, in seconds; 0 for the server's default
	Workers    int    // jobs at once
	// Gate makes it hold each job and ignore all directives until that file is
	// there, and then complete it.
	Gate string
}

// strangeFor is how long a lease may stand that the agent does not know of,
// because the answer to its claim was lost, before it is given back.
const strangeFor = 15 * time.Second

// agent is one boot of an agent: a process.
type agent struct {
	orders
	boot    string
	token   atomic.Pointer[string]
	net     *callertest.Network
	journal *journal

	mu sync.Mutex
	// held are the leases that it works on, with what the server wants of each.
	held map[lease]api.Directive
	// strange are leases that it does not know, since when.
	strange map[lease]time.Time
	// given are jobs that came with the ends of others.
	given []api.Job
}

type lease struct {
	job   string
	epoch int64
}

// beAgent runs an agent's process: it ends only by a kill, or with an
// error that no failure around it excuses.
func beAgent(text string) error {
	a := &agent{boot: fmt.Sprintf("boot-%x", rand.Uint64()), held: map[lease]api.Directive{}, strange: map[lease]time.Time{}}
	if err := json.Unmarshal([]byte(text), &a.orders); err != nil {
		return err
	}
	a.token.Store(&a.Enrolment)
	var err error
	if a.journal, err = openDiary(a.Journal); err != nil {
		return err
	}
	odd := func(status int, body []byte) { a.note(line{Verb: "odd", Status: status, Note: string(body)}) }
	if a.net, err = callertest.New(a.Servers, func() string { return *a.token.Load() }, odd); err != nil {
		return err
	}
	ctx := context.Background()
	if err := a.register(ctx); err != nil {
		return err
	}
	go callertest.Every(ctx, time.Second, func() { a.beat(ctx) })
	for range a.Workers - 1 {
		go a.work(ctx)
	}
	a.work(ctx)
	return nil
}

// note writes down what it was answered.
func (a *agent) note(l line) {
	l.Who = a.Name
	if err := a.journal.write(l); err != nil {
		panic(err)
	}
}

func (a *agent) register(ctx context.Context) error {
	body := api.Registration{BootID: a.boot, MaxConcurrentJobs: &a.Workers, HeartbeatIntervalSeconds: new(1),
		Factory: api.FactoryInfo{Name: "factory-of-" + a.Name, Seats: &a.Workers, Repos: &repos}}
	if a.StaleAfter > 0 {
		body.StaleAfterSeconds = &a.StaleAfter
	}
	answer, err := callertest.Insist(ctx, a.net, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.RegisterAgentResponse, error) {
		return c.RegisterAgentWithResponse(ctx, a.Name, body)
	})
	if err != nil {
		return err
	}
	a.note(line{Verb: "register", Status: answer.StatusCode(), Code: callertest.Code(answer), Note: a.boot})
	if answer.JSON200 == nil {
		return fmt.Errorf("register: %d %s", answer.StatusCode(), answer.Body)
	}
	a.token.Store(&answer.JSON200.Token)
	return nil
}

// beat is one heartbeat. A lost one is not repeated; the next one comes soon.
func (a *agent) beat(ctx context.Context) {
	if a.Gate != "" {
		return
	}
	reports := []api.ProgressReport{}
	a.mu.Lock()
	for l := range a.held {
		reports = append(reports, api.ProgressReport{Job: l.job, Epoch: l.epoch})
	}
	a.mu.Unlock()
	answer, err := callertest.Once(ctx, a.net, 3*time.Second, func(ctx context.Context, c *api.ClientWithResponses) (*api.HeartbeatResponse, error) {
		return c.HeartbeatWithResponse(ctx, a.Name, api.Heartbeat{BootID: a.boot, Status: api.HeartbeatStatusWorking, Leases: &reports})
	})
	if err != nil {
		return
	}
	if answer.JSON200 == nil {
		a.note(line{Verb: "heartbeat", Status: answer.StatusCode(), Code: callertest.Code(answer)})
		return
	}
	if next := answer.JSON200.Token; next != nil {
		a.token.Store(next)
	}
	for _, l := range a.hear(answer.JSON200.Leases) {
		a.release(ctx, l, "unknown to its holder")
	}
}

// hear keeps the directives, and returns the leases to be given back because
// nobody here knows them.
func (a *agent) hear(standings []api.LeaseStanding) (unknown []lease) {
	a.mu.Lock()
	defer a.mu.Unlock()
	present := map[lease]bool{}
	for _, s := range standings {
		l := lease{s.Job, s.Epoch}
		if _, ok := a.held[l]; ok {
			a.held[l] = s.Directive
			continue
		}
		if s.Directive == api.DirectiveFenced {
			continue
		}
		present[l] = true
		if since, ok := a.strange[l]; !ok {
			a.strange[l] = time.Now()
		} else if time.Since(since) > strangeFor {
			unknown = append(unknown, l)
		}
	}
	for l := range a.strange {
		if !present[l] {
			delete(a.strange, l)
		}
	}
	return unknown
}

func (a *agent) directive(l lease) api.Directive {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held[l]
}

func (a *agent) hold(l lease) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held[l] = api.DirectiveContinue
}

func (a *agent) drop(l lease) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.held, l)
}

// work claims and does one job after another.
func (a *agent) work(ctx context.Context) {
	for {
		list := a.takeGiven()
		if len(list) == 0 {
			list = a.claim(ctx)
		}
		for _, job := range list {
			a.do(ctx, job)
		}
	}
}

func (a *agent) takeGiven() []api.Job {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.given
	a.given = nil
	return list
}

// next returns what it wants in the place of a job that it ends: every second time another one.
func (a *agent) next() *api.NextRequest {
	if rand.IntN(2) == 0 || a.Gate != "" {
		return nil
	}
	return &api.NextRequest{RequestID: new(fmt.Sprintf("%x", rand.Uint64())), TTLSeconds: &a.TTL}
}

// receive takes what an answer gave in the place of a job.
func (a *agent) receive(ended *api.Job) {
	if ended == nil || ended.Next == nil {
		return
	}
	for _, job := range ended.Next.Jobs {
		a.note(line{Verb: "claim", Job: job.Key, Epoch: job.Lease.Epoch, Status: http.StatusOK})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.given = append(a.given, ended.Next.Jobs...)
}

// claim waits for a job. Where the answer is lost the same request is made
// again, which gives the same lease.
func (a *agent) claim(ctx context.Context) []api.Job {
	wait := 1 + rand.IntN(4)
	body := api.ClaimRequest{RequestID: new(fmt.Sprintf("%x", rand.Uint64())), TTLSeconds: &a.TTL, WaitSeconds: &wait}
	answer, err := callertest.Insist(ctx, a.net, time.Duration(wait)*time.Second+callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.ClaimJobsResponse, error) {
		return c.ClaimJobsWithResponse(ctx, body)
	})
	if err != nil {
		return nil
	}
	if answer.JSON200 == nil {
		if answer.StatusCode() != http.StatusNoContent {
			a.note(line{Verb: "claim", Status: answer.StatusCode(), Code: callertest.Code(answer)})
			_ = callertest.Rest(ctx, time.Second)
		}
		return nil
	}
	for _, job := range answer.JSON200.Jobs {
		a.note(line{Verb: "claim", Job: job.Key, Epoch: job.Lease.Epoch, Status: answer.StatusCode()})
	}
	return answer.JSON200.Jobs
}
