package report_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// together sends reports in one run and gives the answers.
func (w *testWorkspace) together(said []report.UsageSaid) []report.UsageHeard {
	heard := make([]report.UsageHeard, len(said))
	var all sync.WaitGroup
	all.Add(len(said))
	w.Dispatch.UsageTogether(w.Ctx, w.Workspace, said, func(i int, h report.UsageHeard) { heard[i] = h; all.Done() })
	all.Wait()
	return heard
}

// Of 64 reports in one run each is answered as it would be alone, whatever is wrong
// with its neighbours.
func TestABadReportOfUsageIsNobodyElses(t *testing.T) {
	w := newTestWorkspace(t)
	agents := w.Crew(64)
	held := make([]jobs.Job, len(agents))
	for i, a := range agents {
		held[i] = w.claimOf(a, w.Job(fmt.Sprint("job ", i)))
	}
	for _, i := range []int{5, 60} {
		w.Agent(agents[i].Name, func(r *fleet.Registration) { r.BootID = "boot-2" })
	}
	w.Complete(agents[6], held[6])
	reports := make([]report.UsageSaid, len(agents))
	want := make([]string, len(agents))
	for i, a := range agents {
		mine := ref(held[i])
		list := []report.UsageLine{entry(mine, fmt.Sprint("m-", i)), entry(mine, fmt.Sprint("n-", i))}
		want[i] = "recorded recorded"
		switch i {
		case 5, 60:
			want[i] = "superseded"
		case 10:
			list[0].Entry.Output, want[i] = -1, "validation_failed recorded"
		case 20:
			list[1].Lease.Job, want[i] = "FB-999", "recorded not_found"
		case 30:
			list[1].Lease, want[i] = ref(held[31]), "recorded stale_epoch"
		case 40:
			list[0].Entry.ID = "m-39" // as its neighbour said of another job
		case 41:
			list[1].Entry.ID, list[1].Entry.Input, want[i] = "m-41", 7, "recorded raised"
		case 50:
			list[0].Entry.ID, want[i] = "n-50", "recorded known" // the same one twice
		case 51:
			list, want[i] = nil, ""
		}
		reports[i] = report.UsageSaid{Who: a, Lines: list}
	}
	for i, h := range w.together(reports) {
		if got := words(h); got != want[i] {
			t.Errorf("report %d: %q; want %q", i, got, want[i])
		}
	}
	if n := dbfactory.Int(t, w.DB, `SELECT sum(entries) * 1000 + (SELECT count(*) FROM usage_entry) FROM job_usage`); n != 117*1000+117 {
		t.Errorf("%d sums and entries, read as two numbers of three digits; want 117 of each", n)
	}
}

// words returns the answers to a report in words, or the code of its refusal.
func words(h report.UsageHeard) string {
	if h.Err != nil {
		return string(fault.From(h.Err).Code)
	}
	list := make([]string, 0, len(h.Answers))
	for _, a := range h.Answers {
		list = append(list, said(a))
	}
	return strings.Join(list, " ")
}

// What somebody holds, an agent, the sums of a lease or a message that is being
// reported, keeps only those waiting who need it.
func TestAHeldSumKeepsNoNeighbour(t *testing.T) {
	w := newTestWorkspace(t)
	agents := w.Crew(12)
	held := make([]jobs.Job, len(agents))
	for i, a := range agents {
		held[i] = w.claimOf(a, w.Job(fmt.Sprint("job ", i)))
		w.tell(a, entry(ref(held[i]), fmt.Sprint("before-", i)))
	}
	for name, lock := range map[string]string{
		"sum": `SELECT FROM job_usage WHERE job_id = $1 FOR UPDATE`,
		"entry": `INSERT INTO usage_entry SELECT workspace_id, 'entry-0', job_id, epoch, agent_id, product_id, provider, model, '', 0, 0, 0, 0, 0, '', now()
			FROM usage_entry WHERE job_id = $1 LIMIT 1`,
	} {
		dbfactory.Exec(t, w.DB, `UPDATE agent SET last_heartbeat_at = now() - interval '1 minute'`)
		release := w.Hold(lock, held[0].ID)
		reports := make([]report.UsageSaid, len(agents))
		for i, a := range agents {
			reports[i] = report.UsageSaid{Who: a, Lines: entries(ref(held[i]), name, 1)}
			reports[i].Lines[0].Entry.ID = fmt.Sprint(name, "-", i)
		}
		var others, first sync.WaitGroup
		others.Add(len(agents) - 1)
		first.Add(1)
		back := make(chan struct{})
		w.Dispatch.UsageTogether(w.Ctx, w.Workspace, reports, func(i int, h report.UsageHeard) {
			// A batch that gives up for the held message is run again one by one.
			if got, alone := words(h), i == 0 || name == "entry"; got != "recorded" || h.Alone != alone {
				t.Errorf("%s held, report %d: %s, alone: %t", name, i, got, h.Alone)
			}
			if i > 0 {
				others.Done()
				return
			}
			select {
			case <-back:
			default:
				t.Errorf("%s held: the report that needs it did not wait", name)
			}
			first.Done()
		})
		others.Wait()
		close(back)
		release()
		first.Wait()
	}
	if n := dbfactory.Int(t, w.DB, `SELECT sum(entries) FROM job_usage`); n != 36 {
		t.Errorf("%d entries are counted; want 36", n)
	}
}

// A report of usage waits for nobody who has locked its agent.
func TestALockedAgentKeepsNoReportOfUsageWaiting(t *testing.T) {
	w := newTestWorkspace(t)
	ada := w.Agent("ada")
	held := w.claimOf(ada, w.Job("one"))
	dbfactory.Exec(t, w.DB, `UPDATE agent SET last_heartbeat_at = now() - interval '1 minute'`)
	release := w.Hold(`SELECT FROM agent FOR UPDATE`)
	defer release()
	w.tell(ada, entry(ref(held), "message"))
}

// The same messages reported to two processes at once, each in an order of its own: they
// are held up at the sums or in the midst of the messages, nobody waits in a circle,
// and each message counts once.
func TestTwoProcessesAreToldTheSame(t *testing.T) {
	w := newTestWorkspace(t)
	two := inWorkspace(t, w.DB, w.Workspace)
	ada := w.Agent("ada")
	one, other := w.claimOf(ada, w.Job("one")), w.claimOf(ada, w.Job("other"))
	w.tell(ada, entry(ref(one), "before"), entry(ref(other), "before too"))
	for name, lock := range map[string]string{
		"sums":    `SELECT FROM job_usage FOR UPDATE`,
		"one sum": `SELECT FROM job_usage WHERE job_id = (SELECT max(job_id::text)::uuid FROM job_usage) FOR UPDATE`,
		"message": `INSERT INTO usage_entry SELECT workspace_id, 'message-7', job_id, epoch, agent_id, product_id, provider, model, '', 0, 0, 0, 0, 0, '', now()
			FROM usage_entry LIMIT 1`,
	} {
		list := append(entries(ref(one), name, 20), entries(ref(other), name+"-b", 20)...)
		backwards := slices.Clone(list)
		slices.Reverse(backwards)
		release := w.Hold(lock)
		recorded := make([]int, 2)
		var both sync.WaitGroup
		for i, told := range [][]report.UsageLine{list, backwards} {
			process := []*testWorkspace{w, two}[i]
			both.Go(func() {
				answers, err := process.Dispatch.RecordUsage(w.Ctx, ada, told)
				if err != nil {
					t.Errorf("%s held: %v", name, err)
				}
				for _, a := range answers {
					if a.Outcome == spend.Recorded {
						recorded[i]++
					} else if said(a) != "known" {
						t.Error(said(a))
					}
				}
			})
		}
		w.Blocked(2)
		release()
		both.Wait()
		if recorded[0]+recorded[1] != len(list) {
			t.Errorf("%s held: %v messages of %d were recorded", name, recorded, len(list))
		}
	}
	if got, too := w.sums(one)[1], w.sums(other)[1]; got != 61 || too != 61 {
		t.Errorf("%d and %d entries are counted; want 61 each", got, too)
	}
}

// Whatever is reported, how often, in which order, split how and to which process: what
// counts is each message once.
func TestTotalsAreThoseOfTheDistinctMessages(t *testing.T) {
	w := newTestWorkspace(t)
	processes := []*testWorkspace{w, inWorkspace(t, w.DB, w.Workspace)}
	crew := w.Crew(4)
	var held []jobs.Job // two of each agent, one of them completed
	for i, a := range crew {
		for n := range 2 {
			held = append(held, w.claimOf(a, w.Job(fmt.Sprint("job ", i, n))))
		}
		w.Complete(a, held[2*i])
	}
	rapid.Check(t, func(r *rapid.T) {
		dbfactory.Exec(t, w.DB, `TRUNCATE usage_entry, job_usage`)
		k := &spending{r: r, crew: crew, held: held}
		messages := k.messages()
		recorded := k.tell(w.Ctx, processes, k.reports(messages))
		for _, m := range messages {
			if n := recorded[m.Entry.ID]; n != 1 {
				r.Errorf("%s was recorded %d times", m.Entry.ID, n)
			}
		}
		want := map[string]string{}
		for _, j := range held {
			if sum := sumOf(messages, j); sum != "" {
				want[j.Key] = sum
			}
		}
		if diff := cmp.Diff(want, w.counted()); diff != "" {
			r.Errorf("sums (-of the messages +kept):\n%s", diff)
		}
	})
}

// spending draws what agents use and how they report it.
type spending struct {
	r    *rapid.T
	crew []tenancy.Principal
	held []jobs.Job
}

func (k *spending) messages() []report.UsageLine {
	list := make([]report.UsageLine, rapid.IntRange(1, 30).Draw(k.r, "messages"))
	for i := range list {
		lease := ref(rapid.SampledFrom(k.held).Draw(k.r, "lease"))
		list[i] = entry(lease, fmt.Sprint("m-", i), func(e *spend.Entry) {
			e.Input, e.Output = rapid.Int64Range(0, 1000).Draw(k.r, "input"), rapid.Int64Range(0, spend.MaxTokens).Draw(k.r, "output")
			e.CostUSD = rapid.SampledFrom([]*string{nil, costs("0.1"), costs("0.2"), costs("1e-9"), costs("1000"), costs("0")}).Draw(k.r, "cost")
		})
	}
	return list
}

func costs(text string) *string { return &text }

// reports are made of all messages, some of them many times, in any order.
func (k *spending) reports(messages []report.UsageLine) []report.UsageSaid {
	told := append(slices.Clone(messages), rapid.SliceOfN(rapid.SampledFrom(messages), 0, 60).Draw(k.r, "again")...)
	lines := make([][]report.UsageLine, len(k.crew))
	var reports []report.UsageSaid
	for _, m := range rapid.Permutation(told).Draw(k.r, "order") {
		who := slices.IndexFunc(k.held, func(j jobs.Job) bool { return j.Key == m.Lease.Job }) / 2
		lines[who] = append(lines[who], m)
		if rapid.IntRange(0, 5).Draw(k.r, "split") == 0 {
			reports = append(reports, report.UsageSaid{Who: k.crew[who], Lines: lines[who]})
			lines[who] = nil
		}
	}
	for who, left := range lines {
		if len(left) > 0 {
			reports = append(reports, report.UsageSaid{Who: k.crew[who], Lines: left})
		}
	}
	return reports
}

// tell reports them all at once, and counts how often each message was recorded.
func (k *spending) tell(ctx context.Context, processes []*testWorkspace, reports []report.UsageSaid) map[string]int {
	recorded := map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, one := range reports {
		process := rapid.SampledFrom(processes).Draw(k.r, "process")
		all.Go(func() {
			answers, err := process.Dispatch.RecordUsage(ctx, one.Who, one.Lines)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				k.r.Errorf("a report: %v", err)
			}
			for i, a := range answers {
				if a.Outcome == spend.Recorded {
					recorded[one.Lines[i].Entry.ID]++
				} else if said(a) != "known" {
					k.r.Errorf("%s: %s", one.Lines[i].Entry.ID, said(a))
				}
			}
		})
	}
	all.Wait()
	return recorded
}

// sumOf adds up the messages of a job, "" where there are none.
func sumOf(messages []report.UsageLine, j jobs.Job) string {
	var entries, input, output, read, write, unpriced int64
	var cost spend.Nanos
	for _, m := range messages {
		if m.Lease.Job != j.Key {
			continue
		}
		e := m.Entry
		entries, input, output, read, write = entries+1, input+e.Input, output+e.Output, read+e.CacheRead, write+e.CacheWrite
		if e.CostUSD == nil {
			unpriced++
			continue
		}
		n, _ := spend.ParseUSD(*e.CostUSD)
		cost += n
	}
	if entries == 0 {
		return ""
	}
	return fmt.Sprint(entries, input, output, read, write, int64(cost), unpriced)
}

// counted returns the sums that are kept, by job.
func (w *testWorkspace) counted() map[string]string {
	w.T.Helper()
	all := map[string]string{}
	text := dbfactory.Text(w.T, w.DB, `SELECT coalesce(string_agg(concat_ws(' ', j.key, u.entries, u.input_tokens, u.output_tokens, u.cache_read_tokens,
		u.cache_write_tokens, u.charged_nanos, u.unpriced), E'\n'), '') FROM job_usage u JOIN job j ON j.id = u.job_id`)
	for line := range strings.Lines(text) {
		key, sums, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[key] = sums
	}
	return all
}
