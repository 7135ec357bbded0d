package chaos

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/callertest"
)

// An agent is stopped while it holds a job, for longer than its lease. Another
// one gets the job. The first goes on as if nothing had been and hands in its
// work: it is refused, and nothing changes (P1).
func TestAgentThatWasStoppedIsRefused(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := keptDir(t)
	p := &postgres{t: t, url: dbtest.URL(t)}
	w := newWebs(t, 1, p.url, dir)[0]
	if err := w.launch(ctx); err != nil {
		t.Fatal(err)
	}
	first := newWorkers(t, 1, []string{w.url()}, token(t, dir, "enrolment-token"), dir)[0]
	first.Gate = filepath.Join(dir, "gate")
	if err := first.launch(); err != nil {
		t.Fatal(err)
	}
	owner := speak(t, w, token(t, dir, "owner-token"))
	created, err := owner.CreateJobWithResponse(ctx, nil, api.NewJob{Title: "hold this"})
	if err != nil || created.JSON201 == nil {
		t.Fatalf("create: %v, %v", err, created)
	}
	key := created.JSON201.Key
	first.hears(ctx, "claim")
	first.proc.Signal(syscall.SIGSTOP)

	second := speak(t, w, register(ctx, t, speak(t, w, first.Enrolment), "second"))
	got := claimWithin(ctx, t, second, time.Minute)
	if got.Key != key || got.Lease.Epoch != 2 {
		t.Fatalf("the second agent got %s with epoch %d; want %s with 2", got.Key, got.Lease.Epoch, key)
	}
	before := rowOf(ctx, t, p, key)
	if err := os.WriteFile(first.Gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	first.proc.Signal(syscall.SIGCONT)
	refused := first.hears(ctx, "complete")
	if refused.Status != http.StatusConflict || refused.Code != "stale_epoch" || refused.Epoch != 1 {
		t.Errorf("the first agent was answered %d %s; want 409 stale_epoch", refused.Status, refused.Code)
	}
	if after := rowOf(ctx, t, p, key); after != before {
		t.Errorf("the refused completion changed\n%s\nto\n%s", before, after)
	}
	done, err := second.CompleteJobWithResponse(ctx, api.Completion{Job: key, Epoch: 2})
	if err != nil || done.JSON200 == nil || done.JSON200.Status != api.JobStatusCompleted {
		t.Errorf("the holder's completion: %v, %s", err, done.Body)
	}
}

// hears waits until the agent has written down an answer of that kind.
func (w *worker) hears(ctx context.Context, verb string) (found line) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	callertest.Every(ctx, 50*time.Millisecond, func() {
		list, err := readDiary(w.Journal)
		if err != nil {
			w.t.Error(err)
		}
		for _, l := range list {
			if l.Verb == verb {
				found = l
				cancel()
			}
		}
	})
	if found.Verb == "" {
		w.t.Fatalf("%s was not answered to %s, see %s", w.Name, verb, w.Journal)
	}
	return found
}

func speak(t *testing.T, w *web, token string) *api.ClientWithResponses {
	t.Helper()
	n, err := callertest.New([]string{w.url()}, func() string { return token }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n.Servers[0]
}

// register gives the token of an agent with one seat.
func register(ctx context.Context, t *testing.T, c *api.ClientWithResponses, name string) string {
	t.Helper()
	answer, err := c.RegisterAgentWithResponse(ctx, name, api.Registration{BootID: "boot-1",
		Factory: api.FactoryInfo{Name: "factory-of-" + name, Seats: new(1)}})
	if err != nil || answer.JSON200 == nil {
		t.Fatalf("register: %v, %v", err, answer)
	}
	return answer.JSON200.Token
}

// claimWithin waits for a job.
func claimWithin(ctx context.Context, t *testing.T, c *api.ClientWithResponses, limit time.Duration) api.Job {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); {
		answer, err := c.ClaimJobsWithResponse(ctx, api.ClaimRequest{WaitSeconds: new(20), TTLSeconds: new(600)})
		if err != nil || answer.ApplicationProblemJSONDefault != nil {
			t.Fatalf("claim: %v, %v", err, answer)
		}
		if answer.JSON200 != nil {
			return answer.JSON200.Jobs[0]
		}
	}
	t.Fatalf("there was no job within %s", limit)
	return api.Job{}
}

// rowOf returns all that the database knows of a job, as text; the second agent's
// signs of life are left out.
func rowOf(ctx context.Context, t *testing.T, p *postgres, key string) (text string) {
	t.Helper()
	err := p.ask(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT jsonb_build_object('job', to_jsonb(j),
			'lease', (SELECT to_jsonb(l) - 'expires_at' FROM job_lease l WHERE l.job_id = j.id),
			'attempts', (SELECT jsonb_agg(a ORDER BY a.epoch) FROM attempt a WHERE a.job_id = j.id),
			'events', (SELECT jsonb_agg(e ORDER BY e.id) FROM event e WHERE e.job_id = j.id))::text
			FROM job j WHERE key = $1`, key).Scan(&text)
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
