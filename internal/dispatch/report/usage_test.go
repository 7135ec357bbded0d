package report_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// entry returns a usage entry for a lease, of one input token and a cent.
func entry(lease lease.Ref, id string, change ...func(*spend.Entry)) report.UsageLine {
	cost := "0.01"
	l := report.UsageLine{Lease: lease, Entry: spend.Entry{ID: id, Provider: "house", Model: "house-1", Session: "s-1",
		Input: 1, Output: 10, CacheRead: 100, CacheWrite: 1000, CostUSD: &cost, Operation: "edit", At: time.Now()}}
	for _, c := range change {
		c(&l.Entry)
	}
	return l
}

// entries are n entries for one lease.
func entries(lease lease.Ref, id string, n int) (list []report.UsageLine) {
	for i := range n {
		list = append(list, entry(lease, fmt.Sprint(id, "-", i)))
	}
	return list
}

func (w *testWorkspace) tell(agent tenancy.Principal, list ...report.UsageLine) []report.UsageAnswer {
	w.T.Helper()
	answers, err := w.Dispatch.RecordUsage(w.Ctx, agent, list)
	if err != nil || len(answers) != len(list) {
		w.T.Fatalf("%s tells of %d entries: %d answers, %v", agent.Name, len(list), len(answers), err)
	}
	return answers
}

// said returns an answer in a word: recorded, raised, known, or a code.
func said(a report.UsageAnswer) string {
	if a.Refused != nil {
		return string(a.Refused.Code)
	}
	return string(a.Outcome)
}

// sums returns the sums of a job's attempts: entries by epoch.
func (w *testWorkspace) sums(j jobs.Job) map[int64]int64 {
	w.T.Helper()
	used, err := w.Dispatch.Usage(w.Ctx, w.Owner, j.ID, 1, 2, 3)
	if err != nil {
		w.T.Fatal(err)
	}
	all := map[int64]int64{}
	for epoch, u := range used.Attempts {
		all[epoch] = u.Entries
	}
	return all
}

// worked are jobs that an agent claimed, by what became of that.
type worked struct{ live, done, failed, lost, taken, gone jobs.Job }

// worked lets one agent claim six jobs; another one takes over one of them.
func (w *testWorkspace) worked(one, other tenancy.Principal) (k worked) {
	w.T.Helper()
	for title, j := range map[string]*jobs.Job{"live": &k.live, "done": &k.done, "failed": &k.failed, "lost": &k.lost, "taken": &k.taken, "gone": &k.gone} {
		*j = w.claimOf(one, w.Job(title, retries(0, 0)))
	}
	w.Complete(one, k.done)
	if _, err := w.Dispatch.Fail(w.Ctx, one, ref(k.failed), report.Failure{Error: "broken"}); err != nil {
		w.T.Fatal(err)
	}
	w.Expire(k.lost)
	w.Expire(k.taken)
	if _, err := w.Dispatch.Reclaim(w.Ctx, w.Owner, ""); err != nil {
		w.T.Fatal(err)
	}
	w.claimOf(other, k.taken)
	dbfactory.Exec(w.T, w.DB, `DELETE FROM job WHERE id = $1`, k.gone.ID)
	return k
}

// Usage counts for a lease that the agent has or ever had, however it ended, and
// for no other; and that whether it is reported with others or alone.
func TestForWhichLeasesUsageCounts(t *testing.T) {
	w := newTestWorkspace(t)
	ada, eve := w.Agent("ada"), w.Agent("eve")
	other := inWorkspace(t, w.DB, dbfactory.Workspace(t, w.DB))

	k := w.worked(ada, eve)
	foreign := other.Job("foreign")
	other.Claim(other.Agent("ada"))

	at := func(j jobs.Job, epoch int64) lease.Ref { return lease.Ref{Job: j.Key, Epoch: epoch} }
	unknown := w.Agent("new") // has no lease at all
	cases := []struct {
		name  string
		who   tenancy.Principal
		lease lease.Ref
		want  string
	}{
		{"a live lease", ada, at(k.live, 1), "recorded"},
		{"the job by its id", ada, lease.Ref{Job: k.live.ID.String(), Epoch: 1}, "recorded"},
		{"a completed one", ada, at(k.done, 1), "recorded"},
		{"a failed one", ada, at(k.failed, 1), "recorded"},
		{"a lost one", ada, at(k.lost, 1), "recorded"},
		{"one that another agent has since", ada, at(k.taken, 1), "recorded"},
		{"what that agent has", eve, at(k.taken, 2), "recorded"},
		{"another agent's lease", eve, at(k.live, 1), "stale_epoch"},
		{"the lease before one's own", eve, at(k.taken, 1), "stale_epoch"},
		{"the lease after one's own", ada, at(k.taken, 2), "stale_epoch"},
		{"an epoch that never was", ada, at(k.live, 2), "stale_epoch"},
		{"no epoch", ada, at(k.live, 0), "validation_failed"},
		{"an epoch below 0", ada, at(k.live, -1), "validation_failed"},
		{"no job", ada, lease.Ref{Epoch: 1}, "validation_failed"},
		{"a name that is too long", ada, lease.Ref{Job: strings.Repeat("x", 65), Epoch: 1}, "validation_failed"},
		{"no text", ada, lease.Ref{Job: "a\x00", Epoch: 1}, "validation_failed"},
		{"a job that is not there", ada, lease.Ref{Job: "FB-99", Epoch: 1}, "not_found"},
		{"a job that was deleted", ada, at(k.gone, 1), "not_found"},
		{"a deleted job by its id", ada, lease.Ref{Job: k.gone.ID.String(), Epoch: 1}, "not_found"},
		{"a job of another workspace", ada, lease.Ref{Job: foreign.ID.String(), Epoch: 1}, "not_found"},
		{"somebody without a lease", unknown, at(k.live, 1), "stale_epoch"},
	}
	for way, padding := range map[string]int{"with others": 0, "alone": report.MaxBatchedUsage} {
		for _, c := range cases {
			list := append([]report.UsageLine{entry(c.lease, way+c.name)}, entries(lease.Ref{Job: "FB-99", Epoch: 1}, way+c.name, padding)...)
			if a := w.tell(c.who, list...)[0]; said(a) != c.want || a.Refused != nil && a.Refused.Message == "" {
				t.Errorf("%s, %s: %s (%v); want %s", c.name, way, said(a), a.Refused, c.want)
			}
		}
	}
	for lease, told := range map[lease.Ref]string{at(k.live, 2): k.live.Key + " has not had an epoch 2", at(k.taken, 2): "was another agent's"} {
		if a := w.tell(ada, entry(lease, "told"))[0]; !strings.Contains(a.Refused.Message, told) {
			t.Errorf("%v is refused with %q; want %q", lease, a.Refused.Message, told)
		}
	}
	for j, want := range map[*jobs.Job]map[int64]int64{&k.live: {1: 4}, &k.done: {1: 2}, &k.failed: {1: 2}, &k.lost: {1: 2}, &k.taken: {1: 2, 2: 2}, &k.gone: {}} {
		if diff := cmp.Diff(want, w.sums(*j)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", j.Title, diff)
		}
	}
	if n := dbfactory.Int(t, w.DB, `SELECT count(*) FROM usage_entry WHERE workspace_id = $1`, other.Workspace); n != 0 {
		t.Errorf("another workspace has %d entries", n)
	}
	if used, err := w.Dispatch.Usage(w.Ctx, other.Owner, k.live.ID, 1); err != nil || used.Total.Entries != 0 || len(used.Attempts) != 0 {
		t.Errorf("another workspace reads %+v, %v", used, err)
	}
	kept := dbfactory.Text(t, w.DB, `SELECT concat_ws(' ', p.name, a.name, e.provider, e.model, e.provider_session, e.operation, e.reported_nanos, e.epoch)
		FROM usage_entry e JOIN product p ON p.id = e.product_id JOIN agent a ON a.id = e.agent_id WHERE e.id = 'alonea live lease'`)
	if kept != "default ada house house-1 s-1 edit 10000000 1" {
		t.Errorf("an entry is kept as %q", kept)
	}
}

// Only an agent's present boot may report; it may report what the boot before it used.
func TestWhoTellsOfUsage(t *testing.T) {
	w := newTestWorkspace(t)
	before := w.Agent("ada")
	j := w.Job("one")
	held := ref(w.Claim(before))
	now := w.Agent("ada", func(r *fleet.Registration) { r.BootID = "boot-2" })
	for _, list := range [][]report.UsageLine{entries(held, "old", 1), entries(held, "old", report.MaxBatchedUsage+1)} {
		if answers, err := w.Dispatch.RecordUsage(w.Ctx, before, list); !fault.Is(err, fault.Superseded) || answers != nil {
			t.Errorf("a boot that was replaced: %v, %v", answers, err)
		}
	}
	if _, err := w.Dispatch.RecordUsage(w.Ctx, w.Owner, entries(held, "person", 1)); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a person tells of usage: %v", err)
	}
	for _, n := range []int{0, 201} {
		if _, err := w.Dispatch.RecordUsage(w.Ctx, now, entries(held, "many", n)); fault.From(err).Fields["entries"] == "" {
			t.Errorf("%d entries: %v", n, err)
		}
	}
	w.tell(now, entries(held, "new", 200)...)
	if got := w.sums(j); got[1] != 200 {
		t.Errorf("%v entries are counted; want those 200 of the present boot", got)
	}
}

// Telling is a sign of life and no more: no event, no longer lease, no other status.
func TestTellingOfUsageIsASignOfLife(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.Agent("ada")
	j := w.claimOf(ada, w.Job("one"))
	state := `SELECT concat_ws(' ', j.status, j.version, l.expires_at, (SELECT count(*) FROM event)) FROM job j JOIN job_lease l ON l.job_id = j.id`
	before := dbfactory.Text(t, w.DB, state)
	for _, n := range []int{1, report.MaxBatchedUsage + 1} {
		dbfactory.Exec(t, w.DB, `UPDATE agent SET last_heartbeat_at = now() - interval '1 minute'`)
		w.tell(ada, entries(ref(j), fmt.Sprint(n), n)...)
		if dbfactory.Int(t, w.DB, `SELECT count(*) FROM agent WHERE last_heartbeat_at > now() - interval '30 seconds'`) != 1 {
			t.Errorf("a report of %d entries is no sign of life", n)
		}
	}
	if after := dbfactory.Text(t, w.DB, state); after != before {
		t.Errorf("usage changed %s into %s", before, after)
	}
}

// One line that cannot be kept, or whose lease is full, keeps no other out.
func TestALineThatIsRefused(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.Agent("ada")
	one, two := w.claimOf(ada, w.Job("one")), w.claimOf(ada, w.Job("two"))
	dbfactory.Exec(t, w.DB, `INSERT INTO job_usage SELECT workspace_id, id, 1, 1, 0, 0, 0, 0, 0, 0, 0, $2 FROM job WHERE id = $1`, two.ID, int64(spend.FullCost))
	bad := func(change func(*spend.Entry)) report.UsageLine { return entry(ref(one), "bad", change) }
	list := []report.UsageLine{
		entry(ref(one), "a"),
		bad(func(e *spend.Entry) { e.Input = -1 }),
		bad(func(e *spend.Entry) { less := "-0.3"; e.CostUSD = &less }),
		entry(lease.Ref{Job: one.Key}, "", func(e *spend.Entry) { e.Model = "" }),
		entry(ref(two), "full"),
		entry(ref(one), "b"),
	}
	fields := [][]string{nil, {"input_tokens"}, {"cost_usd"}, {"epoch", "id", "model"}, {"cost_usd"}, nil}
	for i, a := range w.tell(ada, list...) {
		var got []string
		if a.Refused != nil {
			got = slices.Sorted(maps.Keys(a.Refused.Fields))
		}
		if !slices.Equal(got, fields[i]) || (a.Outcome == spend.Recorded) != (fields[i] == nil) {
			t.Errorf("line %d: %s, fields %v; want %v", i, said(a), got, fields[i])
		}
	}
	if got := w.sums(one); got[1] != 2 {
		t.Errorf("%d entries are counted; want the two good ones", got[1])
	}
}

// The values of a job's secrets are not among what is kept of its usage; an id that
// holds one is refused, for no other id could name the entry.
func TestUsageHoldsNoSecret(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.Agent("ada")
	const value = "hunter2hunter2"
	j := w.claimOf(ada, w.Job("one", func(n *jobs.New) {
		n.InputContext, n.SecretKeys = []byte(`{"token": "`+value+`"}`), []string{"token"}
	}))
	for _, padding := range []int{0, report.MaxBatchedUsage} {
		id := fmt.Sprint("m-", padding)
		list := append([]report.UsageLine{
			entry(ref(j), id, func(e *spend.Entry) {
				e.Provider, e.Model, e.Session, e.Operation = "p-"+value, "m-"+value, "s-"+value, strings.Repeat("x", 45)+" "+value
			}),
			entry(ref(j), id+value),
		}, entries(ref(j), id, padding)...)
		answers := w.tell(ada, list...)
		if said(answers[0]) != "recorded" || answers[1].Refused == nil || answers[1].Refused.Fields["id"] == "" {
			t.Errorf("%d more: %s, %s", padding, said(answers[0]), said(answers[1]))
		}
	}
	kept := dbfactory.Text(t, w.DB, `SELECT string_agg(e::text, ' ') FROM usage_entry e`)
	if strings.Contains(kept, value) || !strings.Contains(kept, "m-[secret]") {
		t.Errorf("kept: %.1000s", kept)
	}
}

// claimOf claims that job.
func (w *testWorkspace) claimOf(agent tenancy.Principal, j jobs.Job) jobs.Job {
	w.T.Helper()
	got, err := w.Dispatch.Claim(w.Ctx, agent, claim.Request{Job: j.Key})
	if err != nil || len(got.Jobs) != 1 {
		w.T.Fatalf("claim %s: %+v, %v", j.Key, got, err)
	}
	return got.Jobs[0]
}

// An id names an entry within its job: a later attempt on the job raises it, and another
// job's report of the same id is an entry of its own, whoever sends it, with others, alone
// and in one report. Nobody raises what is not his job's.
func TestAnIDNamesAnEntryOfItsJob(t *testing.T) {
	for way, padding := range map[string]int{"with others": 0, "alone": report.MaxBatchedUsage} {
		t.Run(strings.ReplaceAll(way, " ", "_"), func(t *testing.T) {
			w := newTestWorkspace(t)
			ada, eve := w.Agent("ada"), w.Agent("eve")
			mine, twin, hers := w.claimOf(ada, w.Job("mine")), w.claimOf(ada, w.Job("twin")), w.claimOf(eve, w.Job("hers"))
			input := func(n int64) func(*spend.Entry) { return func(e *spend.Entry) { e.Input = n } }
			tells := func(who tenancy.Principal, want string, lines ...report.UsageLine) {
				t.Helper()
				var got []string
				for _, a := range w.tell(who, append(lines, entries(lease.Ref{Job: "FB-99", Epoch: 1}, "x", padding)...)...)[:len(lines)] {
					got = append(got, said(a))
				}
				if strings.Join(got, " ") != want {
					t.Errorf("%s; want %s", got, want)
				}
			}
			stand := func(want map[string]string) {
				t.Helper()
				for _, j := range []jobs.Job{mine, twin, hers} {
					got := dbfactory.Text(t, w.DB, `SELECT concat_ws(' ', (SELECT string_agg(id || ':' || epoch || ':' || input_tokens, ' ' ORDER BY id) FROM usage_entry WHERE job_id = $1),
						(SELECT sum(input_tokens) FROM job_usage WHERE job_id = $1), (SELECT sum(input_tokens) FROM usage_hour WHERE job_id = $1))`, j.ID)
					if got != want[j.Title] {
						t.Errorf("%s: %s; want %s", j.Title, got, want[j.Title])
					}
				}
			}
			tells(ada, "recorded recorded raised known", entry(ref(mine), "m", input(5)), entry(ref(twin), "m", input(6)),
				entry(ref(mine), "m", input(7)), entry(ref(twin), "m", input(1)))
			tells(eve, "recorded stale_epoch", entry(ref(hers), "m", input(spend.MaxTokens)), entry(ref(mine), "m", input(spend.MaxTokens)))
			stand(map[string]string{"mine": "m:1:7 7 7", "twin": "m:1:6 6 6", "hers": "m:1:1000000000 1000000000 1000000000"})

			// The job goes to somebody else, whose session reports its history again.
			if _, err := w.Dispatch.Release(w.Ctx, ada, ref(mine), report.Release{Reason: "tired"}); err != nil {
				t.Fatal(err)
			}
			again := w.claimOf(eve, mine)
			tells(eve, "known raised recorded", entry(ref(again), "m", input(3)), entry(ref(again), "m", input(9)), entry(ref(again), "n", input(1)))
			tells(ada, "known raised", entry(ref(mine), "n", input(1)), entry(ref(mine), "n", input(2)))
			stand(map[string]string{"mine": "m:1:9 n:2:2 11 11", "twin": "m:1:6 6 6", "hers": "m:1:1000000000 1000000000 1000000000"})
		})
	}
}
