package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/callertest"
	"github.com/fleetboard/fleetboard/e2e/envtest"
)

// Three servers wake each other over a cluster of three NATS servers, which keeps their offers. While
// jobs are made and worked on, first in mode pull and then in mode targeted, the NATS server that
// leads the stream of offers and one Fleetboard server are killed. Every job ends exactly once.
func TestNATSClusterLosesItsLeader(t *testing.T) {
	count := envtest.Number(t, "FLEETBOARD_CHAOS_JOBS", 500)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	dir := keptDir(t)
	brokers := newBrokers(ctx, t, dir)
	p := &postgres{t: t, url: dbtest.URL(t)}
	r := &rush{t: t, count: count, webs: newWebs(t, 3, p.url, dir), ended: map[string]int{}, done: make(chan struct{})}
	var urls []string
	for _, w := range r.webs {
		w.env = append(w.env, "FLEETBOARD_TRANSPORT=nats", "FLEETBOARD_NATS_URL="+brokers.urls)
		if err := w.launch(ctx); err != nil {
			t.Fatal(err)
		}
		urls = append(urls, w.url())
	}
	owner, enrolment := token(t, dir, "owner-token"), token(t, dir, "enrolment-token")
	r.connected(ctx, owner)

	var all sync.WaitGroup
	for i := range 20 {
		agent := register(ctx, t, speak(t, r.webs[i%3], enrolment), fmt.Sprint("agent-", i))
		all.Go(func() { r.work(ctx, urls, agent) })
	}
	all.Go(func() { r.submit(ctx, urls, owner) })
	began := time.Now()
	r.reach(ctx, count/10)
	r.offers(ctx, owner)
	r.reach(ctx, count/5)
	leader := brokers.killLeader(ctx)
	if err := r.webs[1].proc.End(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s and %s were killed after %d of %d jobs", leader, r.webs[1].name, r.endedSoFar(), count)
	r.reach(ctx, count/2)
	if err := r.webs[1].launch(ctx); err != nil {
		t.Fatal(err)
	}
	r.reach(ctx, count)
	t.Logf("%d jobs ended in %v", count, time.Since(began).Round(time.Millisecond))
	all.Wait()
	r.connected(ctx, owner)
	r.judge(ctx, p)
}

// offers has jobs given out by offers from now on.
func (r *rush) offers(ctx context.Context, owner string) {
	r.t.Helper()
	answer, err := speak(r.t, r.webs[0], owner).PutDispatchWithResponse(ctx, api.DispatchChange{Mode: new(api.DispatchModeTargeted), OfferSeconds: new(5)})
	if err != nil || answer.JSON200 == nil {
		r.t.Fatalf("switch to targeted: %v", err)
	}
}

// brokers are the servers of a cluster that keeps streams.
type brokers struct {
	t     *testing.T
	nodes map[string]*server.Server
	urls  string
}

func newBrokers(ctx context.Context, t *testing.T, dir string) *brokers {
	t.Helper()
	b := &brokers{t: t, nodes: map[string]*server.Server{}}
	var routes string
	names := []string{"nats-1", "nats-2", "nats-3"}
	options := map[string]*server.Options{}
	for _, name := range names {
		o := &server.Options{ServerName: name, Host: "127.0.0.1", Port: portOf(t), NoSigs: true, NoLog: true, JetStream: true,
			StoreDir: filepath.Join(dir, name)}
		o.Cluster = server.ClusterOpts{Name: "fleet", Host: "127.0.0.1", Port: portOf(t)}
		options[name] = o
		routes += fmt.Sprintf(",nats://127.0.0.1:%d", o.Cluster.Port)
		b.urls += fmt.Sprintf(",nats://127.0.0.1:%d", o.Port)
	}
	b.urls = b.urls[1:]
	for _, name := range names {
		options[name].Routes = server.RoutesFromStr(routes[1:])
		s, err := server.NewServer(options[name])
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		b.nodes[name] = s
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	}
	b.asClient(func(js jetstream.JetStream) error {
		for {
			limited, cancel := context.WithTimeout(ctx, 2*time.Second)
			_, err := js.CreateStream(limited, jetstream.StreamConfig{Name: "ready", Subjects: []string{"ready.>"}, Replicas: len(names)})
			cancel()
			if err == nil {
				return nil
			}
			if err := callertest.Rest(ctx, 100*time.Millisecond); err != nil { // the cluster elects
				return err
			}
		}
	})
	return b
}

// portOf returns the port of a free address.
func portOf(t *testing.T) int {
	t.Helper()
	var port int
	if _, err := fmt.Sscanf(freeAddress(t), "127.0.0.1:%d", &port); err != nil {
		t.Fatal(err)
	}
	return port
}

func (b *brokers) asClient(do func(jetstream.JetStream) error) {
	b.t.Helper()
	conn, err := nats.Connect(b.urls, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	if err != nil {
		b.t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err == nil {
		err = do(js)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// killLeader ends the server that leads the stream of offers, and waits until another one does.
func (b *brokers) killLeader(ctx context.Context) (name string) {
	b.t.Helper()
	b.asClient(func(js jetstream.JetStream) error {
		name = b.leader(ctx, js, "")
		b.nodes[name].Shutdown()
		b.leader(ctx, js, name)
		return nil
	})
	return name
}

// leader returns who leads the stream of offers, once it is on all servers and led by another one
// than before.
func (b *brokers) leader(ctx context.Context, js jetstream.JetStream, before string) string {
	b.t.Helper()
	for {
		limited, cancel := context.WithTimeout(ctx, time.Second)
		for s := range js.ListStreams(limited).Info() {
			in := s.Cluster
			if strings.HasPrefix(s.Config.Name, "fleetboard-offers-") && s.Config.Replicas == len(b.nodes) &&
				in != nil && in.Leader != "" && in.Leader != before {
				cancel()
				return in.Leader
			}
		}
		cancel()
		if err := callertest.Rest(ctx, 50*time.Millisecond); err != nil {
			b.t.Fatal("the stream has no leader")
		}
	}
}

// rush is a number of jobs that agents work off as fast as they can.
type rush struct {
	t     *testing.T
	count int
	webs  []*web

	mu    sync.Mutex
	ended map[string]int // accepted completions, by job
	done  chan struct{}  // closed once all have ended
}

// connected waits until each server is woken over NATS.
func (r *rush) connected(ctx context.Context, owner string) {
	r.t.Helper()
	for _, w := range r.webs {
		for {
			answer, err := speak(r.t, w, owner).GetCoordinatorStatusWithResponse(ctx)
			if err == nil && answer.JSON200 != nil {
				if is := answer.JSON200.Transport; is.Name == api.TransportNATS && is.Connected && !is.Fallback {
					break
				}
			}
			if err := callertest.Rest(ctx, 50*time.Millisecond); err != nil {
				r.t.Fatalf("%s is not connected to NATS", w.name)
			}
		}
	}
}

func (r *rush) endedSoFar() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ended)
}

// reach waits until so many jobs have ended.
func (r *rush) reach(ctx context.Context, n int) {
	r.t.Helper()
	for r.endedSoFar() < n {
		if err := callertest.Rest(ctx, 5*time.Millisecond); err != nil {
			r.t.Fatalf("%d of %d jobs have ended", r.endedSoFar(), r.count)
		}
	}
}

func (r *rush) network(urls []string, bearer string) *callertest.Network {
	n, err := callertest.New(urls, func() string { return bearer }, func(status int, body []byte) {
		r.t.Errorf("an answer of %d: %s", status, body)
	})
	if err != nil {
		r.t.Error(err)
	}
	return n
}

// submit makes the jobs in small batches, so that agents wait in between.
func (r *rush) submit(ctx context.Context, urls []string, owner string) {
	n := r.network(urls, owner)
	for made := 0; made < r.count; {
		size := min(1+rand.IntN(60), r.count-made)
		var body api.NewJobs
		for i := range size {
			body.Jobs = append(body.Jobs, api.NewJob{Title: fmt.Sprint("rush ", made+i), MaxLost: new(100)})
		}
		params := &api.CreateJobsParams{IdempotencyKey: new(fmt.Sprintf("rush %d %x", made, rand.Uint64()))}
		answer, err := callertest.Insist(ctx, n, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.CreateJobsResponse, error) {
			return c.CreateJobsWithResponse(ctx, params, body)
		})
		if err != nil || answer.StatusCode() >= http.StatusMultipleChoices {
			r.t.Errorf("create: %v, %s", err, answer.Body)
			return
		}
		made += size
		_ = callertest.Rest(ctx, rand.N(100*time.Millisecond))
	}
}

// work claims and completes until all jobs have ended.
func (r *rush) work(ctx context.Context, urls []string, bearer string) {
	n := r.network(urls, bearer)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-r.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	for ctx.Err() == nil {
		body := api.ClaimRequest{RequestID: new(fmt.Sprintf("%x", rand.Uint64())), TTLSeconds: new(15), WaitSeconds: new(20)}
		answer, err := callertest.Insist(ctx, n, 20*time.Second+callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.ClaimJobsResponse, error) {
			return c.ClaimJobsWithResponse(ctx, body)
		})
		if err != nil || answer.JSON200 == nil {
			continue
		}
		for _, job := range answer.JSON200.Jobs {
			r.complete(ctx, n, job)
		}
	}
}

func (r *rush) complete(ctx context.Context, n *callertest.Network, job api.Job) {
	answer, err := callertest.Insist(ctx, n, callertest.Limit, func(ctx context.Context, c *api.ClientWithResponses) (*api.CompleteJobResponse, error) {
		return c.CompleteJobWithResponse(ctx, api.Completion{Job: job.Key, Epoch: job.Lease.Epoch})
	})
	if err != nil || answer.StatusCode() != http.StatusOK {
		return // its lease has ended; another one gets it
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended[job.Key]++; len(r.ended) == r.count && r.ended[job.Key] == 1 {
		close(r.done)
	}
}

// judge compares what agents were answered with what is there.
func (r *rush) judge(ctx context.Context, p *postgres) {
	r.t.Helper()
	for key, n := range r.ended {
		if n != 1 {
			r.t.Errorf("%s was accepted %d times", key, n)
		}
	}
	var completed, attempts, events, wrong int
	err := p.ask(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT (SELECT count(*) FROM job WHERE status = 'completed'),
			(SELECT count(*) FROM attempt WHERE outcome = 'completed'),
			(SELECT count(*) FROM event e, jsonb_array_elements(e.changes) c WHERE c->>'field' = 'status' AND c->>'new' = 'completed'),
			(SELECT count(*) FROM job WHERE status <> 'completed')`).Scan(&completed, &attempts, &events, &wrong)
	})
	if err != nil || completed != r.count || attempts != r.count || events != r.count || wrong != 0 {
		r.t.Errorf("%d jobs: %d completed, %d not, by %d attempts and %d events; %v", r.count, completed, wrong, attempts, events, err)
	}
}
