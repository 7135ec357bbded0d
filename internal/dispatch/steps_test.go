package dispatch_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/transcript"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// step is one of a number, which its title says.
func step(n int, change ...func(*transcript.Step)) transcript.Step {
	s := transcript.Step{N: int64(n), At: time.Unix(int64(n), 0).UTC(), Kind: transcript.Message, Title: fmt.Sprint("step ", n)}
	for _, c := range change {
		c(&s)
	}
	return s
}

// stepsFrom are steps of the numbers from one to another.
func stepsFrom(from, to int, change ...func(*transcript.Step)) (list []transcript.Step) {
	for n := from; n <= to; n++ {
		list = append(list, step(n, change...))
	}
	return list
}

func (w *testWorkspace) did(agent tenancy.Principal, j jobs.Job, steps ...transcript.Step) lease.Status {
	w.T.Helper()
	status, err := w.Dispatch.WriteSteps(w.Ctx, agent, ref(j), steps)
	if err != nil {
		w.T.Fatalf("write steps: %v", err)
	}
	return status
}

// transcript returns the whole of it, page by page.
func (w *testWorkspace) transcript(j jobs.Job, f transcript.Filter) (list []transcript.Step) {
	w.T.Helper()
	f.Limit = transcript.MaxLimit
	for {
		page, err := transcript.NewService(w.DB).Steps(w.Ctx, w.Owner, j.Key, j.Epoch, f)
		if err != nil {
			w.T.Fatal(err)
		}
		list = append(list, page.Steps...)
		if !page.More {
			return list
		}
		f.After = page.Looked
	}
}

func (w *testWorkspace) wantSteps(j jobs.Job, want []transcript.Step) {
	w.T.Helper()
	if diff := cmp.Diff(want, w.transcript(j, transcript.Filter{})); diff != "" {
		w.T.Errorf("the transcript (-want +got):\n%s", diff)
	}
}

func TestATranscriptKeepsEachStepOnce(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	written, stop := w.Dispatch.WatchSteps(transcript.Attempt{Workspace: w.Workspace, Job: held.ID, Epoch: held.Epoch})
	defer stop()
	all := stepsFrom(1, 9)
	all[1] = step(2, func(s *transcript.Step) {
		s.Kind, s.Text, s.Tool, s.Path, s.Tokens, s.Cost = transcript.Edit, "\x1b[31m \u202e-a\n+b", "Edit", "a/b.go", 7, 12
	})
	if got := w.did(agent, held, all[:3]...); got.NextStep != 4 || got.StepsLeftOut != 0 || got.Directive != lease.Continue ||
		got.ExpiresAt == nil || got.Job != held.Key {
		t.Errorf("standing %+v", got)
	}
	select {
	case <-written:
	case <-time.After(time.Minute):
		t.Fatal("nobody was notified")
	}
	other := step(3, func(s *transcript.Step) { s.Title = "another one" })
	if got := w.did(agent, held, all[1], other, all[3]); got.NextStep != 5 { // the answer to the first call was lost
		t.Errorf("the next step is %d", got.NextStep)
	}
	if got := w.did(agent, held, all[:2]...); got.NextStep != 5 {
		t.Errorf("the next step is %d after old ones", got.NextStep)
	}
	_, err := w.Dispatch.WriteSteps(w.Ctx, agent, ref(held), all[6:])
	if !fault.Is(err, fault.StepGap) {
		t.Errorf("step 7 behind step 4: %v", err)
	}
	w.did(agent, held, all[4:]...)
	w.wantSteps(held, all)
	page, err := transcript.NewService(w.DB).Steps(w.Ctx, w.Owner, held.Key, 1, transcript.Filter{Limit: 1})
	if want := (transcript.Head{Last: 9, Steps: 9, Tokens: 7, Cost: 12, Bytes: page.Head.Bytes}); err != nil || page.Head != want {
		t.Errorf("%+v, %v; want %+v", page.Head, err, want)
	}
}

// However the steps come, there are few chunks, and every way to read them gives the same.
func TestChunksGrow(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	random := rand.New(rand.NewPCG(1, 2))
	var all []transcript.Step
	for range 150 {
		from := len(all) + 1
		more := stepsFrom(from, from+random.IntN(7), func(s *transcript.Step) {
			s.Kind = transcript.Kinds[random.IntN(len(transcript.Kinds))]
			s.Text = strings.Repeat(fmt.Sprintf("%x", random.Uint64()), random.IntN(400))
			if s.Kind == transcript.Edit {
				s.Path = fmt.Sprintf("file%d.go", random.IntN(3))
			}
		})
		w.did(agent, held, more...)
		all = append(all, more...)
	}
	w.wantSteps(held, all)
	size := dbfactory.Int(t, w.DB, `SELECT sum(size) FROM job_transcript_chunk`)
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_transcript_chunk`); n > 10+2*size/transcript.MaxChunk {
		t.Errorf("%d chunks of %d bytes", n, size)
	}
	matching := func(f func(transcript.Step) bool) (list []transcript.Step) {
		for _, s := range all {
			if f(s) {
				list = append(list, s)
			}
		}
		return list
	}
	for name, c := range map[string]struct {
		filter transcript.Filter
		want   []transcript.Step
	}{
		"from one on": {transcript.Filter{After: 77}, all[77:]},
		"two kinds": {transcript.Filter{Kinds: []transcript.Kind{transcript.Plan, transcript.Edit}}, matching(func(s transcript.Step) bool {
			return s.Kind == transcript.Plan || s.Kind == transcript.Edit
		})},
		"a text": {transcript.Filter{Text: "STEP 10"}, matching(func(s transcript.Step) bool { return strings.Contains(s.Title, "step 10") })},
		"a file": {transcript.Filter{Path: "file1.go"}, matching(func(s transcript.Step) bool { return s.Path == "file1.go" })},
	} {
		if diff := cmp.Diff(c.want, w.transcript(held, c.filter)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var back []transcript.Step
	for before := int64(len(all) + 1); before > 1; {
		page, err := transcript.NewService(w.DB).Steps(w.Ctx, w.Owner, held.Key, 1, transcript.Filter{Before: before, Limit: 13})
		if err != nil || len(page.Steps) == 0 {
			t.Fatalf("before %d: %d steps, %v", before, len(page.Steps), err)
		}
		back, before = append(slices.Clone(page.Steps), back...), page.Steps[0].N
		if page.More != (before > 1) {
			t.Fatalf("before %d: more %t", before, page.More)
		}
	}
	if diff := cmp.Diff(all, back); diff != "" {
		t.Errorf("read from the end (-want +got):\n%s", diff)
	}
	edits := matching(func(s transcript.Step) bool { return s.Path == "file2.go" })
	n, err := transcript.NewService(w.DB).LastEdit(w.Ctx, transcript.Attempt{Workspace: w.Workspace, Job: held.ID, Epoch: 1}, "file2.go")
	if err != nil || n != edits[len(edits)-1].N {
		t.Errorf("the last edit of file2.go is step %d, %v; want %d", n, err, edits[len(edits)-1].N)
	}
}

// A caller that writes without end fills only so much. What is left out is counted, and its numbers are used up.
func TestAFloodOfStepsIsCut(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	w.inOneMinute()
	long := func(s *transcript.Step) { s.Text = strings.Repeat("x", transcript.MaxText) }
	left, next := 0, 1
	for range 12 << 20 / (100 * transcript.MaxText) {
		status := w.did(agent, held, stepsFrom(next, next+99, long)...)
		left, next = left+status.StepsLeftOut, next+100
		if status.NextStep != int64(next) {
			t.Fatalf("the next step is %d; want %d", status.NextStep, next)
		}
	}
	kept := int(transcript.MaxMinute / step(1, func(s *transcript.Step) { s.Title = "step 100"; long(s) }).Size())
	page, err := transcript.NewService(w.DB).Steps(w.Ctx, w.Owner, held.Key, 1, transcript.Filter{})
	if err != nil || int(page.Head.LeftOut) != left || left == 0 || int(page.Head.Steps) < kept-1 || int(page.Head.Steps) > kept+1 ||
		int(page.Head.Last) != next-1 {
		t.Errorf("%+v, %v; %d were left out, %d are to be kept", page.Head, err, left, kept)
	}
	dbfactory.Exec(t, w.DB, `UPDATE job_transcript SET minute = minute - interval '1 minute'`)
	if s := w.did(agent, held, step(next)); s.StepsLeftOut != 0 {
		t.Errorf("the next minute has no room: %+v", s)
	}
	for _, full := range []string{"steps = 50000", "steps = 1, bytes = 33554432", "bytes = 1"} {
		dbfactory.Exec(t, w.DB, `UPDATE job_transcript SET minute = minute - interval '1 minute', `+full)
		next++
		if s := w.did(agent, held, step(next)); (s.StepsLeftOut == 1) == (full == "bytes = 1") {
			t.Errorf("%s: %+v", full, s)
		}
	}
}

func TestStepsOfAnEndedAttemptAreRefused(t *testing.T) {
	w := newTestWorkspace(t)
	agent, other := w.Agent("claude-1"), w.Agent("claude-2")
	w.Job("one", retries(5, 1))
	held := w.Claim(agent)
	w.did(agent, held, stepsFrom(1, 3)...)
	refuse := func(who tenancy.Principal, want fault.Code, steps ...transcript.Step) {
		t.Helper()
		if _, err := w.Dispatch.WriteSteps(w.Ctx, who, ref(held), steps); !fault.Is(err, want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	refuse(other, fault.StaleEpoch, step(4))
	refuse(w.Owner, fault.Forbidden, step(4))
	if _, err := w.Dispatch.Release(w.Ctx, agent, ref(held), report.Release{Reason: "so"}); err != nil {
		t.Fatal(err)
	}
	refuse(agent, fault.AlreadyEnded, step(4))
	refuse(agent, fault.AlreadyEnded, step(3), step(4))
	refuse(other, fault.LeaseExpired, step(3))
	if got := w.did(agent, held, step(2), step(3)); got.NextStep != 4 { // the answer was lost
		t.Errorf("%+v", got)
	}
	again := w.Claim(agent)
	refuse(agent, fault.AlreadyEnded, step(4))
	refuse(other, fault.StaleEpoch, step(4))
	w.did(agent, again, step(1))
	w.wantSteps(held, stepsFrom(1, 3))
	w.wantSteps(again, stepsFrom(1, 1))
	w.Expire(again)
	if _, err := w.Dispatch.WriteSteps(w.Ctx, agent, ref(again), stepsFrom(2, 2)); !fault.Is(err, fault.LeaseExpired) {
		t.Errorf("after the lease: %v", err)
	}
}

func TestRefusedSteps(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	for name, steps := range map[string][]transcript.Step{
		"none": {}, "501": stepsFrom(1, 501), "number 0": stepsFrom(0, 1), "a number twice": {step(1), step(1)}, "a gap": {step(1), step(3)},
		"backwards": {step(2), step(1)}, "NUL": {step(1, func(s *transcript.Step) { s.Text = "a\x00b" })},
		"a title of two lines": {step(1, func(s *transcript.Step) { s.Title = "a\nb" })},
		"another kind":         {step(1, func(s *transcript.Step) { s.Kind = "shout" })},
		"a long text":          {step(1, func(s *transcript.Step) { s.Text = strings.Repeat("ä", transcript.MaxText+1) })},
		"tokens below 0":       {step(1, func(s *transcript.Step) { s.Tokens = -1 })},
		"no such blob":         {step(1, func(s *transcript.Step) { s.Blob = strings.Repeat("a", 64) })},
	} {
		if _, err := w.Dispatch.WriteSteps(w.Ctx, agent, ref(held), steps); !fault.Is(err, fault.Validation) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.wantSteps(held, nil)
}

// A secret goes, also where it begins in one step and ends in another, of the same call or of the next.
func TestATranscriptKeepsNoSecret(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one", secret)
	held := w.Claim(agent)
	say := func(n int, text string) transcript.Step {
		return step(n, func(s *transcript.Step) { s.Title, s.Text, s.Tool, s.Path = "it is "+canary, text, canary, canary })
	}
	w.did(agent, held, say(1, "all: "+canary), say(2, "begins "+canary[:7]), say(3, canary[7:]+" goes on "+canary[:7]))
	w.did(agent, held, say(4, canary[7:]+" ends"))
	for _, s := range w.transcript(held, transcript.Filter{}) {
		for _, text := range []string{s.Title, s.Text, s.Tool, s.Path} {
			if strings.Contains(text, canary[:7]) || strings.Contains(text, canary[len(canary)-6:]) {
				t.Errorf("step %d says %q", s.N, text)
			}
		}
	}
}

// Two servers and a caller that sends each step to both: each is kept once, in its order.
func TestTwoServersTakeTheSameStepsTogether(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one")
	held := w.Claim(agent)
	all := stepsFrom(1, 60, func(s *transcript.Step) { s.Text = strings.Repeat("long ", 300) })
	var both sync.WaitGroup
	for _, server := range []*testWorkspace{w, inWorkspace(t, w.DB, w.Workspace)} {
		both.Go(func() {
			for from := 0; from < len(all); {
				status, err := server.Dispatch.WriteSteps(server.Ctx, agent, ref(held), all[from:min(from+3, len(all))])
				if err != nil {
					t.Error(err)
					return
				}
				from = int(status.NextStep) - 1
			}
		})
	}
	both.Wait()
	w.wantSteps(held, all)
}

func TestTranscriptsGoWithTheirJobAndWithTime(t *testing.T) {
	w := newTestWorkspace(t)
	agent := w.Agent("claude-1")
	w.Job("one", retries(5, 1))
	held := w.Claim(agent)
	w.did(agent, held, stepsFrom(1, 3)...)
	if _, err := w.Dispatch.Release(w.Ctx, agent, ref(held), report.Release{Reason: "so"}); err != nil {
		t.Fatal(err)
	}
	again := w.Claim(agent)
	w.did(agent, again, step(1))
	service := transcript.NewService(w.DB)
	expire := func(want int) {
		t.Helper()
		if n, err := service.ExpireTranscripts(w.Ctx); n != want || err != nil {
			t.Errorf("deleted %d, %v; want %d", n, err, want)
		}
	}
	expire(0)
	dbfactory.Exec(t, w.DB, `UPDATE job_transcript SET began_at = began_at - interval '31 days'`)
	expire(0) // both have steps of today
	dbfactory.Exec(t, w.DB, `UPDATE job_transcript SET minute = minute - interval '31 days' WHERE epoch = 1`)
	expire(1)
	w.wantSteps(held, nil)
	w.wantSteps(again, stepsFrom(1, 1))
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM job_transcript_chunk`); n != 1 {
		t.Errorf("%d chunks are left", n)
	}
	dbfactory.Exec(t, w.DB, `DELETE FROM job WHERE id = $1`, held.ID)
	if n := dbfactory.Int(t, w.DB, `SELECT (SELECT count(*) FROM job_transcript) + (SELECT count(*) FROM job_transcript_chunk)`); n != 0 {
		t.Errorf("%d rows outlive their job", n)
	}
}
