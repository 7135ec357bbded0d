package life

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// What the clients of a history do.
const (
	historyClients = 8
	historyJobs    = 6
	historyCalls   = 60 // of each client
)

// operation is one call about one job.
type operation struct {
	job    int
	number int    // of the call; "give back" has that of its claim
	agent  int    // who calls, unless a person does
	verb   string // claim, progress, complete, release, reclaim, retry or give back
	epoch  int64
}

// outcome is what the caller knows of it.
type outcome struct {
	unknown bool // the connection broke, or the server could not say
	ok      bool
	epoch   int64 // of the lease that a claim gave
}

// register is a job as a lease sees it. finished and released hold, for each agent,
// a bit for each epoch whose completion or release was accepted: repeating one is
// accepted again.
type register struct {
	leased, done bool
	holder       int // agent
	claim        int // number of the call that opened the lease
	epoch        int64
	finished     [2]uint64
	released     [2]uint64
}

// step returns the specification: at most one lease, epochs rise by one, and a write
// with another epoch than the present one is refused.
func (s register) step(in operation, out outcome) (bool, register) {
	mine := s.leased && in.epoch == s.epoch && in.agent == s.holder
	bit := uint64(1) << in.epoch
	repeated := in.verb == "complete" && s.finished[in.agent]&bit != 0 || in.verb == "release" && s.released[in.agent]&bit != 0
	possible := map[string]bool{"claim": !s.leased && !s.done, "progress": mine, "complete": mine || repeated,
		"release": mine || repeated, "reclaim": s.leased, "retry": s.done, "give back": s.leased && s.claim == in.number}[in.verb]
	next := s.after(in, repeated)
	switch {
	case out.unknown && possible:
		return true, next
	case out.unknown:
		return true, s
	case out.ok:
		return possible && (in.verb != "claim" || out.epoch == next.epoch), next
	}
	// A claim passes over a job that another transaction holds at that moment.
	return !possible || in.verb == "claim", s
}

func (s register) after(in operation, repeated bool) register {
	switch {
	case repeated:
	case in.verb == "claim":
		s.leased, s.holder, s.claim, s.epoch = true, in.agent, in.number, s.epoch+1
	case in.verb == "complete":
		s.leased, s.done = false, true
		s.finished[in.agent] |= 1 << in.epoch
	case in.verb == "release":
		s.leased = false
		s.released[in.agent] |= 1 << in.epoch
	case in.verb == "reclaim", in.verb == "give back":
		s.leased = false
	case in.verb == "retry":
		s.done = false
	}
	return s
}

var specification = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := make([][]porcupine.Operation, historyJobs)
		for _, o := range history {
			job := o.Input.(operation).job
			parts[job] = append(parts[job], o)
		}
		return parts
	},
	Init: func() any { return register{} },
	Step: func(state, in, out any) (bool, any) {
		return state.(register).step(in.(operation), out.(outcome))
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v -> %+v", in, out) },
}

// recorder keeps what eight clients did and saw, and what any of them knows of epochs.
type recorder struct {
	process
	t      *testing.T
	keys   []string
	agents []string // tokens
	start  time.Time

	mu      sync.Mutex
	epochs  [historyJobs]int64
	history []porcupine.Operation
}

// Eight clients with breaking connections, who know each other's epochs and use
// old ones as well: what they saw is explained by one lease at a time.
func TestHistoriesAreLegal(t *testing.T) {
	binary := build(t, "")
	server := run(t, binary)
	for round := range 5 {
		r := record(t, server, uint64(round))
		result, _ := porcupine.CheckOperationsVerbose(specification, r.history, 30*time.Second)
		if result != porcupine.Ok {
			t.Fatalf("round %d: %s\n%s", round, result, r)
		}
	}
}

// record runs the clients once, on new jobs.
func record(t *testing.T, server process, seed uint64) *recorder {
	t.Helper()
	r := &recorder{process: server, t: t, start: time.Now()}
	for n := range 2 {
		name := fmt.Sprintf("agent-%d", n)
		var registered struct{ Token string }
		r.must(server.enrolment, "PUT", "/agents/"+name, object{"boot_id": "one", "max_concurrent_jobs": 100,
			"factory": object{"name": "host-" + name, "seats": 100}}, &registered)
		r.agents = append(r.agents, registered.Token)
	}
	for range historyJobs {
		var made job
		r.must(server.owner, "POST", "/jobs", object{"title": "job", "max_retries": 100, "max_lost": 100}, &made)
		r.keys = append(r.keys, made.Key)
	}
	var wg sync.WaitGroup
	for client := range historyClients {
		wg.Go(func() { r.client(client, rand.New(rand.NewPCG(seed, uint64(client)))) })
	}
	wg.Wait()
	return r
}

func (r *recorder) must(token, method, path string, body, into any) {
	r.t.Helper()
	status, raw, err := r.call(r.t.Context(), http.DefaultClient, token, method, path, body)
	if err != nil || status >= 300 {
		r.t.Fatalf("%s %s: %v %d %s", method, path, err, status, raw)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		r.t.Fatal(err)
	}
}

func (r *recorder) call(ctx context.Context, client *http.Client, token, method, path string, body any) (int, []byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	in, err := http.NewRequestWithContext(ctx, method, r.url+"/api/v1"+path, bytes.NewReader(raw))
	if err != nil {
		return 0, nil, err
	}
	in.Header.Set("Authorization", "Bearer "+token)
	in.Header.Set("Content-Type", "application/json")
	out, err := client.Do(in)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = out.Body.Close() }()
	raw, err = io.ReadAll(out.Body)
	return out.StatusCode, raw, err
}

// client makes its calls one after another. Of some it breaks the connection
// after a moment, and then does not know what came of them.
func (r *recorder) client(id int, dice *rand.Rand) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	http := &http.Client{Transport: transport}
	verbs := []string{"claim", "claim", "claim", "progress", "complete", "complete", "release", "reclaim", "retry"}
	for range historyCalls {
		op := operation{job: dice.IntN(historyJobs), agent: id % len(r.agents), verb: verbs[dice.IntN(len(verbs))]}
		r.mu.Lock()
		op.epoch = max(1, r.epochs[op.job]-int64(dice.IntN(3)/2))
		r.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		if dice.IntN(12) == 0 {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(dice.IntN(6000))*time.Microsecond)
		}
		call := time.Since(r.start).Nanoseconds()
		out := r.do(ctx, http, op)
		cancel()
		r.note(id, op, out, call)
	}
}

func (r *recorder) note(id int, op operation, out outcome, call int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	back := time.Since(r.start).Nanoseconds()
	if out.unknown {
		back = int64(time.Hour) // it may still take effect
	}
	r.epochs[op.job] = max(r.epochs[op.job], out.epoch)
	op.number = len(r.history)
	r.history = append(r.history, porcupine.Operation{ClientId: id, Input: op, Output: out, Call: call, Return: back})
	if op.verb == "claim" && out.unknown {
		// Nobody waits for the lease any more: the server may take it back.
		op.verb = "give back"
		r.history = append(r.history, porcupine.Operation{ClientId: id, Input: op, Output: out, Call: call, Return: back})
	}
}

func (r *recorder) do(ctx context.Context, client *http.Client, op operation) outcome {
	key := r.keys[op.job]
	token, path, body := r.agents[op.agent], "/fleet/"+op.verb, object{"job": key, "epoch": op.epoch}
	switch op.verb {
	case "claim":
		body = object{"job": key, "ttl_seconds": 600}
	case "progress":
		body["progress_percent"] = 10
	case "complete":
		body["summary"] = "done"
	case "release":
		body["reason"] = "tired"
	case "reclaim":
		token, path, body = r.owner, "/reclaim", object{"job": key}
	case "retry":
		token, path, body = r.owner, "/jobs/"+key+"/retry", object{}
	}
	status, raw, err := r.call(ctx, client, token, "POST", path, body)
	switch {
	case err != nil || status >= 500 || status == http.StatusTooManyRequests:
		return outcome{unknown: true}
	case status == http.StatusConflict || status == http.StatusNoContent:
		return outcome{}
	case status != http.StatusOK:
		r.t.Errorf("%s %s: %d %s", op.verb, key, status, raw)
		return outcome{unknown: true}
	}
	return said(op, raw)
}

// said reads what an answer of 200 means.
func said(op operation, raw []byte) outcome {
	switch op.verb {
	case "claim":
		var got struct{ Jobs []job }
		if json.Unmarshal(raw, &got) != nil || len(got.Jobs) != 1 || got.Jobs[0].Lease == nil {
			return outcome{}
		}
		return outcome{ok: true, epoch: got.Jobs[0].Lease.Epoch}
	case "reclaim":
		var did struct{ Released int }
		_ = json.Unmarshal(raw, &did)
		return outcome{ok: did.Released == 1}
	}
	return outcome{ok: true}
}

// String returns the history as a person reads it.
func (r *recorder) String() string {
	var text strings.Builder
	for _, o := range r.history {
		fmt.Fprintf(&text, "%3d %10d..%-14d %+v -> %+v\n", o.ClientId, o.Call/1000, o.Return/1000, o.Input, o.Output)
	}
	return text.String()
}
