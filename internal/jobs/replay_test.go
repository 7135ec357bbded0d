package jobs

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// life is a job to which anything may happen, and what the log keeps of it.
type life struct {
	t   *rapid.T
	job Job
	now time.Time
	log []eventlog.Event

	contents map[string]json.RawMessage
}

// Whatever happens to a job, in whatever order: its events give its state, also
// where the oldest of them were folded into one.
func TestTheEventsOfAJobTellItsState(t *testing.T) {
	reached := map[Status]bool{}
	// Rounds of rapid's hundred lives: ten, and as many more as the rare statuses take.
	const rounds, most = 10, 1000
	for i := 0; i < rounds || i < most && len(reached) < len(Statuses) && !t.Failed(); i++ {
		rapid.Check(t, func(r *rapid.T) { liveAndReplay(r, reached) })
	}
	for _, status := range Statuses {
		if !reached[status] {
			t.Errorf("no walk led to %s", status)
		}
	}
}

func liveAndReplay(r *rapid.T, reached map[Status]bool) {
	l := newLife(r)
	for range rapid.IntRange(0, 60).Draw(r, "steps") {
		l.step()
		reached[l.job.Status] = true
	}
	told, err := l.replay(l.log)
	if err != nil {
		r.Fatal(err)
	}
	if diff := l.job.State().Diff(told); len(diff) > 0 {
		r.Fatalf("the job and its events differ:\n%s", strings.Join(diff, "\n"))
	}
	n := rapid.IntRange(1, len(l.log)).Draw(r, "folded")
	folded, err := l.replay(append([]eventlog.Event{l.fold(l.log[:n])}, l.log[n:]...))
	if diff := told.Diff(folded); err != nil || len(diff) > 0 {
		r.Fatalf("folded events differ: %v\n%s", err, strings.Join(diff, "\n"))
	}
}

func (l *life) replay(log []eventlog.Event) (State, error) {
	told, err := Replay(log)
	if err != nil {
		return told, err
	}
	return told.Fill(l.contents)
}

func newLife(r *rapid.T) *life {
	l := &life{t: r, now: noon, contents: map[string]json.RawMessage{}}
	l.job = Job{Key: "FB-1", Kind: l.word("kind"), Spec: Spec{Body: l.long("body"), EstimatedComplexity: l.word("complexity"),
		EstimatedMinutes: l.optional(100), Files: l.words(), WaitsForChildren: l.coin("waits for children"), Title: l.word("title"),
		Priority: l.number(10), Phase: l.word("phase"),
		Repo: l.word("repo"), Capabilities: l.words(), Tags: l.words(), Acceptance: l.words(),
		MaxRetries: l.number(3),
	}, InputContext: json.RawMessage(`{"n": 1e2, "key": "[secret]"}`),
		SecretKeys: []string{"key"}, IdempotencyKey: l.word("idempotency"),
		Status: Ready, Product: "ledger", MaxLost: l.number(3), RetryBackoffSeconds: l.number(100), ReviewRequired: l.coin("reviewed")}
	if l.coin("timed") {
		l.job.NotBefore = l.time()
	}
	d := Decision{After: l.job}
	d.readyOrWaiting(l.now, l.coin("dependent"))
	l.save(eventlog.JobCreated, d.After, d.After.beginning())
	return l
}

func (l *life) coin(label string) bool   { return rapid.Bool().Draw(l.t, label) }
func (l *life) number(most int) int      { return rapid.IntRange(0, most).Draw(l.t, "number") }
func (l *life) word(label string) string { return rapid.StringN(0, 8, -1).Draw(l.t, label) }
func (l *life) words() []string          { return set(rapid.SliceOfN(rapid.String(), 0, 3).Draw(l.t, "words")) }
func (l *life) time() *time.Time {
	t := l.now.Add(time.Duration(l.number(7200)-3600)*time.Second + 1234567)
	return &t
}
func (l *life) long(label string) string {
	return strings.Repeat(l.word(label), l.number(200))
}
func (l *life) optional(most int) *int {
	if !l.coin("given") {
		return nil
	}
	n := l.number(most)
	return &n
}
func (l *life) object() json.RawMessage {
	return json.RawMessage(text(map[string]any{"commit": l.word("commit"), "says": l.long("result")}))
}

// save is what the statements that write a job do beside its fields.
func (l *life) save(kind eventlog.Type, after Job, changes []eventlog.Change) {
	was, at, actor := l.job, l.now, l.word("actor")
	after.Version, after.UpdatedAt = was.Version+1, at
	if kind == eventlog.JobCreated {
		was.Status, after.Version, after.CreatedAt, after.CreatedBy = "", 1, at, actor
	}
	if was.Status != after.Status {
		after.StatusAt, after.StatusBy = at, tenancy.Actor{Name: actor}
	}
	after.ReadyAt = when(after.Status == Ready, firstOf(when(was.Status == Ready, was.ReadyAt), &at))
	if after.Status == Assigned && was.Status != Assigned {
		after.AssignedAt, after.StartedAt = &at, nil
	}
	if after.Status == Running && was.Status != Running {
		after.StartedAt = &at
	}
	after.CompletedAt, after.FailedAt = was.CompletedAt, was.FailedAt
	if after.Status != Archived {
		after.CompletedAt = when(after.Status == Completed, firstOf(was.CompletedAt, &at))
		after.FailedAt = when(after.Status == Failed || after.Status == Aborted, firstOf(was.FailedAt, &at))
	}
	l.job = after
	l.append(kind, changes)
	l.log[len(l.log)-1].SavedAt, l.log[len(l.log)-1].Actor.Name = &at, actor
}

func when(holds bool, at *time.Time) *time.Time {
	if holds {
		return at
	}
	return nil
}

func firstOf(a, b *time.Time) *time.Time {
	if a != nil {
		return a
	}
	return b
}

func (l *life) append(kind eventlog.Type, changes []eventlog.Change) {
	stored, err := eventlog.Encode(changes, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	e := eventlog.Event{ID: int64(len(l.log) + 1), Type: kind}
	if err := decode(stored.Changes, &e.Changes); err != nil {
		l.t.Fatal(err)
	}
	for _, c := range stored.Contents {
		l.contents[c.SHA256] = json.RawMessage(c.Body)
	}
	if l.job.Epoch > 0 {
		epoch := l.job.Epoch
		e.Epoch = &epoch
	}
	l.log = append(l.log, e)
}

// step decides on the job as something may that happens to it now.
func (l *life) step() {
	l.now = l.now.Add(time.Duration(l.number(600)) * time.Second)
	if l.job.Status == Ready && l.coin("claimed") {
		l.claim()
		return
	}
	if l.job.Status.Leased() && l.coin("reports") {
		l.report()
		return
	}
	j, locked := l.job, Locked{Job: l.job, Now: l.now}
	open := l.coin("dependency open")
	decisions := []func() (Decision, error){
		func() (Decision, error) { return j.Block(l.word("reason")) },
		func() (Decision, error) { return locked.Unblock(open) },
		func() (Decision, error) { return j.Ask(l.word("question") + "?") },
		func() (Decision, error) { return locked.Reply(open, l.word("answer")) },
		j.Pause,
		func() (Decision, error) { return locked.Resume(open) },
		func() (Decision, error) { return j.Cancel(l.word("reason")) },
		func() (Decision, error) { return locked.Retry(open, l.word("feedback")) },
		func() (Decision, error) { return j.Approve("abc") },
		func() (Decision, error) { return j.Reject(l.word("feedback")) },
		func() (Decision, error) { return j.Merge("abc", "") },
		func() (Decision, error) { return j.FailMerge("conflict") },
		func() (Decision, error) { return j.FailCycle([]string{"FB-1", "FB-1"}) },
		func() (Decision, error) { return j.Hold(WaitRepoBusy) },
		j.Archive,
		j.Start,
		func() (Decision, error) {
			return j.Complete(Work{Result: l.object(), FilesTouched: l.words(), URL: l.word("url")})
		},
		func() (Decision, error) { return locked.Release("") },
		func() (Decision, error) { return locked.Fail(l.coin("retryable"), FailedOther, "x") },
		func() (Decision, error) { return locked.FailOfHost(FailedOther, time.Minute, "x") },
		func() (Decision, error) { return j.Finish(l.word("reason"), l.object()) },
		func() (Decision, error) { return locked.Lose("x", time.Duration(l.number(60))*time.Second) },
		func() (Decision, error) { return locked.TimeOut("x") },
		func() (Decision, error) { return locked.edit(l.patch()) },
		func() (Decision, error) { return locked.linked(Blocks, "FB-2", open), nil },
		func() (Decision, error) { return locked.unlinked("blocks", "FB-2", open), nil },
		func() (Decision, error) {
			if d, ok := locked.Promote(open); ok {
				return d, nil
			}
			return Decision{}, j.Refuse(ByPromote)
		},
	}
	d, err := decisions[rapid.IntRange(0, len(decisions)-1).Draw(l.t, "decision")]()
	if err != nil {
		return
	}
	if d.After.Status == Ready && d.Before.Status != Ready && l.coin("held") {
		d = d.waitFor(WaitReviewBacklog)
	}
	if !d.changesNothing() {
		l.save(d.Type, d.After, d.changes())
	}
}

// claim is what the claim's statement does.
func (l *life) claim() {
	after := l.job
	after.Status, after.Epoch, after.Attempts = Assigned, l.job.Epoch+1, l.job.Attempts+1
	after.ProgressPercent, after.CurrentStep = nil, ""
	l.save(eventlog.JobClaimed, after, []eventlog.Change{{Field: "status", Old: "ready", New: "assigned"}})
}

// report is what a report of progress does.
func (l *life) report() {
	l.job.ProgressPercent, l.job.CurrentStep, l.job.Checkpoint = l.optional(100), l.word("step"), l.object()
	l.append(eventlog.JobProgressed, []eventlog.Change{{Field: "progress_percent", New: l.job.ProgressPercent},
		{Field: "current_step", New: l.job.CurrentStep}, {Field: "checkpoint", New: l.job.Checkpoint}})
}

func (l *life) patch() Patch {
	title, phase, repo, priority := l.word("title"), l.word("phase"), l.word("repo"), l.number(10)
	p := Patch{Spec: Spec{Title: title, Phase: phase, Priority: priority}, Set: []string{"title", "phase", "priority"}}
	if l.coin("needs") {
		capabilities, tags := l.words(), l.words()
		p.Repo, p.Capabilities, p.Tags = repo, capabilities, tags
		p.Set = append(p.Set, "repo", "capabilities", "tags")
	}
	if l.coin("written") {
		body, criteria, files := l.long("body"), l.words(), l.words()
		met := make([]bool, len(criteria))
		for i := range met {
			met[i] = l.coin("met")
		}
		budget, tier := int64(l.number(100)+1), Tiers[l.number(len(Tiers)-1)]
		p.Complexity, p.BudgetNanos, p.Tier = l.optional(MaxComplexityStep), &budget, tier
		p.Body, p.Acceptance, p.AcceptanceMet, p.Files, p.EstimatedMinutes = body, criteria, met, files, l.optional(60)
		p.Set = append(p.Set, "complexity", "budget_usd", "tier", "body", "acceptance", "acceptance_met", "files", "estimated_minutes")
	}
	if l.coin("rescheduled") {
		p.NotBefore, p.Set = l.time(), append(p.Set, "not_before")
	}
	return p
}

// fold returns one event in the place of several: the last value of each field, recorded by
// changes also where it was implied.
func (l *life) fold(events []eventlog.Event) eventlog.Event {
	told, err := l.replay(events)
	if err != nil {
		l.t.Fatal(err)
	}
	one := eventlog.Event{Type: eventlog.JobCompacted, Epoch: &told.Epoch}
	for _, f := range fieldList {
		if f.name != "lane" && f.name != "epoch" && f.name != "attempts" {
			one.Changes = append(one.Changes, eventlog.Change{Field: f.name, New: told.value(f.at)})
		}
	}
	return one
}

func TestALogThatCannotBeIsRefused(t *testing.T) {
	made := eventlog.Event{ID: 1, Type: eventlog.JobCreated, Changes: []eventlog.Change{{Field: "status", New: "ready"}}}
	for name, e := range map[string]eventlog.Event{
		"from another status":  {ID: 2, Changes: []eventlog.Change{{Field: "status", Old: "paused", New: "ready"}}},
		"a priority of words":  {ID: 2, Changes: []eventlog.Change{{Field: "priority", New: "high"}}},
		"a time that is none":  {ID: 2, Changes: []eventlog.Change{{Field: "not_before", New: "soon"}}},
		"a list that is a map": {ID: 2, Changes: []eventlog.Change{{Field: "tags", New: map[string]any{"a": 1}}}},
	} {
		if _, err := Replay([]eventlog.Event{made, e}); err == nil || !strings.Contains(err.Error(), "event 2") {
			t.Errorf("%s: %v; want the event's number", name, err)
		}
	}
	if s, err := Replay([]eventlog.Event{made, {Changes: []eventlog.Change{{Field: "link", New: "FB-2"}, {Field: "directive", New: "pause"}}}}); err != nil || s.Status != Ready {
		t.Errorf("what is no state: %v, %v", s, err)
	}
}
