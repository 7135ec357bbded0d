package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/processtest"

	"github.com/jackc/pgx/v5"
)

const crowd, claimers = 2000, 20

func titles(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("job %d", i)
	}
	return list
}

// Twenty agents over HTTP take two thousand jobs: each exactly once.
func TestTwentyClaimersTakeEachJobOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit(titles(crowd / 2)...)
	s.submit(titles(crowd / 2)...)
	var mu sync.Mutex
	seen := map[string]int{}
	var all sync.WaitGroup
	for i := range claimers {
		agent := s.agent(fmt.Sprint("claude-", i))
		all.Go(func() {
			for {
				answer, err := agent.ClaimJobsWithResponse(t.Context(), api.ClaimRequest{})
				if err != nil || answer.StatusCode() != http.StatusOK && answer.StatusCode() != http.StatusNoContent {
					t.Errorf("claim: %v %s", err, body(answer))
					return
				}
				if answer.JSON200 == nil {
					return
				}
				for _, j := range answer.JSON200.Jobs {
					mu.Lock()
					seen[j.Key]++
					mu.Unlock()
					if j.Lease.Epoch != 1 {
						t.Errorf("%s has epoch %d", j.Key, j.Lease.Epoch)
					}
					done, err := agent.CompleteJobWithResponse(t.Context(), api.Completion{Job: j.Key, Epoch: 1})
					if err != nil || done.StatusCode() != http.StatusOK {
						t.Errorf("complete %s: %v %s", j.Key, err, body(done))
					}
				}
			}
		})
	}
	all.Wait()
	if len(seen) != crowd {
		t.Errorf("%d jobs were claimed; want %d", len(seen), crowd)
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("%s was claimed %d times", key, n)
		}
	}
}

// Half of the claimers stop in the middle of a job and never say so. Their
// leases of ten seconds end, the others finish the jobs, and whoever comes back
// with an old lease is refused.
func TestClaimersThatStopLoseTheirJobsToOthers(t *testing.T) {
	t.Parallel()
	const total = 200
	url := dbtest.URL(t)
	s := startOn(t, url, t.TempDir())
	s.submit(titles(total)...)
	type held struct {
		agent *api.ClientWithResponses
		key   string
		epoch int64
	}
	var mu sync.Mutex
	var abandoned []held
	completed := map[string]int{}
	var all sync.WaitGroup
	for i := range claimers {
		agent := s.agent(fmt.Sprint("claude-", i))
		stops := i%2 == 0
		all.Go(func() {
			for end := time.Now().Add(40 * time.Second); time.Now().Before(end); {
				mu.Lock()
				over := len(completed) == total
				mu.Unlock()
				if over {
					return
				}
				answer, err := agent.ClaimJobsWithResponse(t.Context(), api.ClaimRequest{TTLSeconds: number(10), WaitSeconds: number(2), Max: number(3)})
				if err != nil {
					t.Errorf("claim: %v", err)
					return
				}
				if answer.JSON200 == nil {
					continue
				}
				for _, j := range answer.JSON200.Jobs {
					if stops {
						mu.Lock()
						abandoned = append(abandoned, held{agent, j.Key, j.Lease.Epoch})
						mu.Unlock()
						continue
					}
					done, err := agent.CompleteJobWithResponse(t.Context(), api.Completion{Job: j.Key, Epoch: j.Lease.Epoch})
					if err != nil || done.StatusCode() != http.StatusOK {
						t.Errorf("complete %s: %v %s", j.Key, err, body(done))
						continue
					}
					mu.Lock()
					completed[j.Key]++
					mu.Unlock()
				}
				if stops {
					return
				}
			}
		})
	}
	all.Wait()
	if len(completed) != total {
		t.Errorf("%d jobs were completed; want %d", len(completed), total)
	}
	if len(abandoned) == 0 {
		t.Fatal("nobody stopped in the middle of a job")
	}
	for _, h := range abandoned {
		answer, err := h.agent.CompleteJobWithResponse(t.Context(), api.Completion{Job: h.key, Epoch: h.epoch})
		if err != nil || answer.StatusCode() != http.StatusConflict {
			t.Fatalf("stale completion of %s: %v, status %d %s", h.key, err, answer.StatusCode(), body(answer))
		}
		if code := answer.ApplicationProblemJSONDefault.Code; code != "stale_epoch" && code != "lease_expired" {
			t.Errorf("stale completion of %s: code %s", h.key, code)
		}
	}
	assertOnce(t, url, total)
}

// assertOnce asserts that every job has exactly one completed attempt, and that
// leases and ready rows agree with statuses.
func assertOnce(t *testing.T, url string, total int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	for what, c := range map[string]struct {
		sql  string
		want int
	}{
		"completed jobs":       {`SELECT count(*) FROM job WHERE status = 'completed'`, total},
		"completed attempts":   {`SELECT count(*) FROM attempt WHERE outcome = 'completed'`, total},
		"open attempts":        {`SELECT count(*) FROM attempt WHERE outcome = ''`, 0},
		"leases left":          {`SELECT count(*) FROM job_lease`, 0},
		"ready rows left":      {`SELECT count(*) FROM job_ready`, 0},
		"completion events":    {`SELECT count(*) FROM event WHERE type = 'job.completed'`, total},
		"jobs completed twice": {`SELECT count(*) FROM (SELECT job_id FROM attempt WHERE outcome = 'completed' GROUP BY job_id HAVING count(*) > 1) x`, 0},
	} {
		var n int
		if err := conn.QueryRow(t.Context(), c.sql).Scan(&n); err != nil || n != c.want {
			t.Errorf("%s: %d, %v; want %d", what, n, err, c.want)
		}
	}
}

// A server that ends is not ready first, while it answers everything, as long as it was told to. Then it
// answers claims that wait, and says that their connections close: whoever asks again at once does
// not do so on a connection that is about to be cut.
func TestAServerThatEndsClosesConnectionsInOrder(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "DATABASE_URL="+dbtest.URL(t), "FLEETBOARD_DRAIN_SECONDS=2")
	answers, asked := make(chan *api.ClaimJobsResponse, claimers), make(chan struct{}, claimers)
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { asked <- struct{}{} }})
	for i := range claimers {
		agent := s.agent(fmt.Sprint("claude-", i)) // its first call is on a connection of its own
		go func() {
			answer, err := agent.ClaimJobsWithResponse(ctx, api.ClaimRequest{WaitSeconds: number(50)})
			if err != nil {
				t.Errorf("a waiting claim: %v", err)
			}
			answers <- answer
		}()
	}
	for range claimers {
		<-asked
	}
	ended := make(chan struct{})
	go func() { defer close(ended); s.stop() }()
	processtest.Until(t, time.Minute, "the server is not ready", func() bool { return !s.answers() })
	s.submit("while it ends")
	<-ended
	for range claimers {
		if answer := <-answers; answer != nil && answer.JSON200 == nil && (answer.StatusCode() != http.StatusNoContent || !answer.HTTPResponse.Close) {
			t.Errorf("a waiting claim was answered %d; its connection closes: %v", answer.StatusCode(), answer.HTTPResponse.Close)
		}
	}
}
