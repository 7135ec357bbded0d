package dispatch_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/jobs/transcript"
)

// Two hundred people watch one attempt of a megabyte while its agent goes on: each gets every step, once and in order,
// and soon. What is measured is the way from the call of the agent to the step in the hands of whoever sends it to a
// browser.
func TestTwoHundredWatchOneAttemptTogether(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	long := func(s *transcript.Step) {
		for i := range 100 {
			s.Text += fmt.Sprintf("%d: what the tests of step %d print, %x\n", i, s.N, int(s.N)*i*7919)
		}
	}
	for from := 1; from < 240; from += 40 {
		w.did(agent, held, stepsFrom(from, from+39, long)...)
	}
	const watchers, writes, first = 200, 30, 241
	other := inWorkspace(t, w.DB, w.Workspace)
	service := transcript.NewService(other.DB)
	of := transcript.Attempt{Workspace: w.Workspace, Job: held.ID, Epoch: held.Epoch}
	var took [watchers][]time.Duration
	var ready, all sync.WaitGroup
	ready.Add(watchers)
	for i := range watchers {
		written, stop := other.Dispatch.WatchSteps(of)
		all.Go(func() {
			defer stop()
			ready.Done()
			for after := int64(first - 1); after < first-1+writes; {
				select {
				case <-written:
				case <-time.After(time.Minute):
					t.Errorf("watcher %d got nothing behind step %d", i, after)
					return
				}
				page, err := service.ReadAttempt(t.Context(), of, transcript.Filter{After: after, Limit: 100})
				if err != nil {
					t.Error(err)
					return
				}
				for _, s := range page.Steps {
					if s.N != after+1 {
						t.Errorf("watcher %d got step %d behind %d", i, s.N, after)
					}
					after = s.N
					took[i] = append(took[i], time.Since(s.At))
				}
			}
		})
	}
	ready.Wait()
	pace := time.NewTicker(300 * time.Millisecond)
	defer pace.Stop()
	for n := first; n < first+writes; n++ {
		<-pace.C
		w.did(agent, held, step(n, func(s *transcript.Step) { s.At, s.Text = time.Now().UTC(), strings.Repeat("new ", 200) }))
	}
	all.Wait()
	every := slices.Concat(took[:]...)
	slices.Sort(every)
	if len(every) != watchers*writes {
		t.Fatalf("%d steps were seen; want %d", len(every), watchers*writes)
	}
	at := func(p int) time.Duration { return every[len(every)*p/100].Round(time.Millisecond) }
	t.Logf("%d watchers of an attempt with 1 MB: p50 %s, p95 %s, p99 %s", watchers, at(50), at(95), at(99))
}
