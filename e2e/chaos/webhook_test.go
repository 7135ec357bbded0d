package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/callertest"
	"github.com/fleetboard/fleetboard/e2e/envtest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// inbox takes the deliveries of a webhook, each in a hundredth of a second, so that some are under way
// whenever a server dies.
type inbox struct {
	t      *testing.T
	reader *standard.Webhook

	mu    sync.Mutex
	order []int64          // events in the order of their first arrival
	times map[string]int   // arrivals by id
	byID  map[string]int64 // events by id
}

func (b *inbox) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var said struct {
		Data struct {
			EventID int64 `json:"event_id"`
		}
	}
	if err != nil || json.Unmarshal(raw, &said) != nil {
		return // it was broken off
	}
	_ = callertest.Rest(r.Context(), 10*time.Millisecond)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.reader.Verify(raw, r.Header); err != nil {
		b.t.Errorf("a signature: %v", err)
	}
	id := r.Header.Get("webhook-id")
	if b.times[id]++; b.times[id] == 1 {
		b.order, b.byID[id] = append(b.order, said.Data.EventID), said.Data.EventID
	} else if b.byID[id] != said.Data.EventID {
		b.t.Errorf("%s is of the events %d and %d", id, b.byID[id], said.Data.EventID)
	}
}

func (b *inbox) arrived() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.order)
}

// Servers are killed while a webhook is sent to: none of its events is missing, those of each job come in
// their order, and what comes twice is what was under way at a kill.
func TestAWebhookGetsAllEventsWhileServersAreKilled(t *testing.T) {
	kills := envtest.Number(t, "FLEETBOARD_WEBHOOK_KILLS", 3)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(kills)*30*time.Second+5*time.Minute)
	defer cancel()
	dir, databaseURL := keptDir(t), dbtest.URL(t)
	webs := newWebs(t, 2, databaseURL, dir)
	for _, w := range webs {
		w.env = append(w.env, "FLEETBOARD_WEBHOOK_ALLOW=127.0.0.0/8")
		if err := w.launch(ctx); err != nil {
			t.Fatal(err)
		}
	}
	owner := token(t, dir, "owner-token")
	b := &inbox{t: t, times: map[string]int{}, byID: map[string]int64{}}
	to := httptest.NewServer(b)
	t.Cleanup(func() { to.CloseClientConnections(); to.Close() })
	made, err := speak(t, webs[0], owner).CreateWebhookWithResponse(ctx, api.NewWebhook{URL: to.URL, Types: &[]string{"job.created", "job.edited"}})
	if err != nil || made.JSON201 == nil {
		t.Fatalf("make a webhook: %v %s", err, made.Body)
	}
	if b.reader, err = standard.NewWebhook(made.JSON201.Secret); err != nil {
		t.Fatal(err)
	}

	working, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { keepWorking(working, t, webs, owner, b) })
	for n := range kills {
		before := b.arrived()
		processtest.Until(t, time.Minute, "events arrive between two kills", func() bool { return b.arrived() > before+5 })
		w := webs[0] // it was there first: it sends
		if n > 0 {
			w = webs[rand.IntN(len(webs))]
		}
		if err := w.proc.End(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := w.launch(ctx); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	work.Wait()

	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, err := conn.Query(ctx, `SELECT id, job_id::text FROM event WHERE type IN ('job.created', 'job.edited') ORDER BY xid, id`)
	if err != nil {
		t.Fatal(err)
	}
	jobs, log, id, job := map[int64]string{}, []int64{}, int64(0), ""
	if _, err := pgx.ForEachRow(rows, []any{&id, &job}, func() error {
		jobs[id], log = job, append(log, id)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	processtest.Until(t, 2*time.Minute, fmt.Sprint("all of ", len(log), " events have arrived"), func() bool { return b.arrived() >= len(log) })
	b.check(jobs, log, kills)
}

// ahead is how many events are made beyond those that have arrived: a kill takes the sender away for
// fifteen seconds.
const ahead = 300

// keepWorking makes jobs and edits them, over whichever server answers.
func keepWorking(ctx context.Context, t *testing.T, webs []*web, owner string, b *inbox) {
	var servers []*api.ClientWithResponses
	for _, w := range webs {
		servers = append(servers, speak(t, w, owner))
	}
	events := 0
	for n := 0; ctx.Err() == nil; n++ {
		for events > b.arrived()+ahead && ctx.Err() == nil {
			_ = callertest.Rest(ctx, 50*time.Millisecond)
		}
		s := servers[n%len(servers)]
		key := fmt.Sprint("HOOK-", n)
		if made, err := s.CreateJobWithResponse(ctx, nil, api.NewJob{Title: "Job", Key: &key}); err != nil || made.JSON201 == nil {
			continue // its server is dead: what was saved is in the log
		}
		events += 4
		for edit := range 3 {
			title := fmt.Sprint("Edit ", edit)
			_, _ = s.PatchJobWithResponse(ctx, key, api.JobPatch{Version: edit + 1, Title: &title})
		}
		_ = callertest.Rest(ctx, 20*time.Millisecond)
	}
}

// check compares what arrived with the log.
func (b *inbox) check(jobs map[int64]string, log []int64, kills int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	place := map[int64]int{}
	for i, id := range log {
		place[id] = i
	}
	last := map[string]int{}
	for _, id := range b.order {
		job := jobs[id]
		if job == "" {
			b.t.Errorf("event %d is not in the log", id)
		}
		if before, seen := last[job]; seen && place[id] <= before {
			b.t.Errorf("event %d of its job came after a later one", id)
		}
		last[job] = place[id]
		delete(jobs, id)
	}
	if len(jobs) > 0 {
		b.t.Errorf("%d of %d events are missing", len(jobs), len(log))
	}
	twice := 0
	for _, n := range b.times {
		twice += n - 1
	}
	b.t.Logf("%d kills, %d events, %d deliveries came again", kills, len(log), twice)
	if twice > 4*kills { // so many are under way at once
		b.t.Errorf("%d deliveries came again after %d kills", twice, kills)
	}
}
