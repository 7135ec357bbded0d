package dispatch_test

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	cent = spend.Nanos(10_000_000)
	// jobCents is what each job of the fleet costs, and the slice of the budget.
	jobCents = 10
)

// crew is agents that work off a queue, and what they have spent.
type crew struct {
	*testWorkspace
	processes []*testWorkspace // on the same database
	agents    []tenancy.Principal
	random    []*rand.Rand // of each agent
	claims    atomic.Int64
	lost      atomic.Int64

	mu    sync.Mutex
	spent map[string]int64 // cents, by the job's key
}

// at returns the process that an agent talks to.
func (c *crew) at(i int) *testWorkspace { return c.processes[i%len(c.processes)] }

// Two hundred jobs, a hard budget for fifty and ten agents that die now and then: they
// spend no more than the budget has, but for what was under way. The other jobs wait and
// say why. A raise lets them go on by itself.
func TestAFleetStaysWithinAHardBudget(t *testing.T) {
	const seed, agents, limit, more = 20261123, 10, 50 * jobCents, 20 * jobCents
	t.Logf("seed %d", seed)
	w := newTestWorkspace(t)
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Second)
	defer stop()
	processes := []*testWorkspace{w, inWorkspace(t, w.DB, w.Workspace), inWorkspace(t, w.DB, w.Workspace)}
	c := &crew{testWorkspace: w, processes: processes, spent: map[string]int64{}}
	for _, p := range c.processes {
		p.Ctx = ctx
		<-p.Listening
	}
	c.agents = w.Crew(agents, func(r *fleet.Registration) { r.MaxConcurrentJobs, r.Factory.Seats = 1, 1 })
	for i := range c.agents {
		c.random = append(c.random, seeded(seed+uint64(i)))
	}
	b := w.budget(limit, func(in *budgets.Input) { in.Period = budgets.Once })
	var all []jobs.Job
	for i := range 200 {
		all = append(all, w.Job(fmt.Sprint("job ", i), dispatchtest.Losses(100)))
	}

	c.workOff()
	c.within(b, limit, all)

	// Each agent waits for a job, and nobody but the raise wakes them.
	before := c.claims.Load()
	first := make(chan time.Time, agents)
	var working sync.WaitGroup
	for i := range c.agents {
		working.Go(func() {
			if j, found := c.claim(i, 30*time.Second); found {
				first <- time.Now()
				c.work(i, j)
				c.reclaim()
			}
		})
	}
	c.wait(agents)
	raised := time.Now()
	if _, err := w.money().Raise(ctx, w.Owner, b.ID, budgets.Raise{Amount: more * cent, Reason: "more"}); err != nil {
		t.Fatal(err)
	}
	returned := time.Since(raised)
	working.Wait()
	if len(first) != agents {
		t.Fatalf("after the raise %d of %d agents that waited got a job", len(first), agents)
	}
	t.Logf("the first claim came %s after the raise began, which took %s", (<-first).Sub(raised), returned)
	c.workOff()
	c.within(b, limit+more, all)
	t.Logf("%d claims, %d of them after the raise, %d leases lost", c.claims.Load(), c.claims.Load()-before, c.lost.Load())
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(20261123, seed)) }

// wait returns once so many claims wait.
func (c *crew) wait(n int) {
	c.T.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for waiting := 0; waiting < n; {
		select {
		case <-tick.C:
		case <-c.Ctx.Done():
			c.T.Fatalf("%d claims wait; want %d", waiting, n)
		}
		waiting = 0
		for _, p := range c.processes {
			waiting += p.Dispatch.Waiting(c.Workspace)
		}
	}
}

// workOff lets all agents work until none of them gets a job any more.
func (c *crew) workOff() {
	c.T.Helper()
	for had := int64(-1); c.claims.Load() != had && !c.T.Failed(); {
		had = c.claims.Load()
		dispatchtest.AtOnce(c.agents, func(i int, _ tenancy.Principal) {
			for j, found := c.claim(i, 0); found && !c.T.Failed(); j, found = c.claim(i, 0) {
				c.work(i, j)
			}
		})
		// Those that lapsed last, which nobody's claim has found.
		c.reclaim()
	}
}

// reclaim takes back what has lapsed.
func (c *crew) reclaim() {
	c.T.Helper()
	if _, err := c.Dispatch.Reclaim(c.Ctx, c.Owner, ""); err != nil {
		c.T.Errorf("reclaim: %v", err)
	}
}

// claim takes a job, waiting for it.
func (c *crew) claim(i int, wait time.Duration) (jobs.Job, bool) {
	got, err := c.at(i).Dispatch.Claim(c.Ctx, c.agents[i], claim.Request{Wait: wait})
	if err != nil {
		c.T.Errorf("claim: %v", err)
	}
	if err != nil || len(got.Jobs) == 0 {
		return jobs.Job{}, false
	}
	c.claims.Add(1)
	return got.Jobs[0], true
}

// work spends what is left of a job's ten cents, piece by piece, and hands it in. Now and
// then the agent dies on the way, and may report what it spent last when its lease is over.
func (c *crew) work(i int, j jobs.Job) {
	agent, r := c.agents[i], c.random[i]
	c.mu.Lock()
	spent := c.spent[j.Key]
	c.mu.Unlock()
	until, dies, late := int64(jobCents), false, int64(0)
	if left := jobCents - spent; left > 2 && r.IntN(5) == 0 {
		until, dies, late = spent+1+r.Int64N(left-2), true, r.Int64N(2)
	}
	// One entry is reported again and again with more, until the next one begins.
	entry, cents := 0, int64(0)
	tell := func(more int64) {
		cents += more
		c.at(i).spends(agent, j, fmt.Sprintf("%s/%d/%d", j.Key, j.Epoch, entry), cents)
		if r.IntN(2) == 0 {
			entry, cents = entry+1, 0
		}
	}
	for spent < until {
		more := 1 + r.Int64N(min(4, until-spent))
		tell(more)
		spent += more
	}
	c.mu.Lock()
	c.spent[j.Key] = spent + late // before somebody else gets the job
	c.mu.Unlock()
	if !dies {
		c.at(i).Complete(agent, j)
		return
	}
	c.lost.Add(1)
	c.Expire(j)
	if r.IntN(2) == 0 { // else whoever claims next finds it
		c.reclaim()
	}
	if late > 0 {
		tell(late)
	}
}

// within checks that the crew has spent all of a budget and no more, and that the jobs
// that are not done wait for it.
func (c *crew) within(b budgets.Budget, limit int64, all []jobs.Job) {
	c.T.Helper()
	now, err := c.money().Get(c.Ctx, c.Owner, b.ID)
	if err != nil {
		c.T.Fatal(err)
	}
	var told int64
	for _, cents := range c.spent {
		told += cents
	}
	settled := int64(now.State.Settled.Money / cent)
	if most := limit + jobCents*int64(len(c.agents)); settled > most || settled <= limit-jobCents || settled != told {
		c.T.Errorf("%d cents are settled of %d, %d were told; want as many as told, more than %d and at most %d",
			settled, limit, told, limit-jobCents, most)
	}
	if now.State.Reserved.Money != 0 {
		c.T.Errorf("nobody works, and $%s are reserved", now.State.Reserved.Money.USD())
	}
	if runs := c.claims.Load(); now.State.Settled.Runs != runs {
		c.T.Errorf("%d runs are settled; want %d", now.State.Settled.Runs, runs)
	}
	done, reasons := 0, map[string]int{}
	for _, j := range all {
		if c.Get(j).Status == jobs.Completed {
			done++
			if c.spent[j.Key] != jobCents {
				c.T.Errorf("%s has cost %d cents; want %d", j.Key, c.spent[j.Key], jobCents)
			}
			continue
		}
		c.waitsFor(j, jobs.WaitBudget)
		reasons[c.why(j)]++
	}
	why := fmt.Sprintf("The budget %q has %s free, and the job needs $0.10", b.Name, max(0, spend.Nanos(limit-settled)*cent))
	if reasons[why] != len(all)-done || len(reasons) != 1 {
		c.T.Errorf("%d jobs wait because %v; want %s", len(all)-done, reasons, why)
	}
	c.T.Logf("%d of %d jobs are done for %d cents of %d", done, len(all), settled, limit)
	c.ledgerIsRight()
	c.Consistent()
	report, err := audit.Run(c.Ctx, c.DB)
	if err != nil || report.Found() > 0 {
		c.T.Errorf("the audit finds %d, %v: %v", report.Found(), err, report.Findings)
	}
}

// cutter carries the connections of one database, and cuts one of them at a statement.
type cutter struct {
	network, address string // of the server
	url              string // that leads through the cutter
	left             atomic.Int64
	commits          atomic.Bool // it is a commit that is carried out and whose answer is lost
	cuts             atomic.Int64
}

// newCutter carries connections to d's database until the test ends.
func newCutter(t *testing.T, d *db.DB) *cutter {
	t.Helper()
	to := dbtest.Owner(t, d).Config()
	c := &cutter{network: "tcp", address: net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port)))}
	if filepath.IsAbs(to.Host) {
		c.network, c.address = "unix", filepath.Join(to.Host, fmt.Sprint(".s.PGSQL.", to.Port))
	}
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(to.User, to.Password), Host: l.Addr().String(), Path: to.Database,
		RawQuery: "sslmode=disable"}
	c.url = u.String()
	var open sync.WaitGroup
	open.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { c.carry(client) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); open.Wait() })
	return c
}

// arm cuts the connection of the nth statement from now before it arrives, or that of the
// nth commit once it was carried out; 0 is never.
func (c *cutter) arm(n int, commits bool) {
	c.commits.Store(commits)
	c.left.Store(int64(n))
}

// carry carries one connection.
func (c *cutter) carry(client net.Conn) {
	defer client.Close()
	var dial net.Dialer
	server, err := dial.DialContext(context.Background(), c.network, c.address)
	if err != nil {
		return
	}
	defer server.Close()
	var mute atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer client.Close()
		answer := make([]byte, 1<<16)
		for {
			n, err := server.Read(answer)
			if err != nil || mute.Load() {
				return
			}
			if _, err := client.Write(answer[:n]); err != nil {
				return
			}
		}
	}()
	// The first message has no kind.
	for head := 4; ; head = 5 {
		start := make([]byte, head)
		if _, err := io.ReadFull(client, start); err != nil {
			return
		}
		message := slices.Concat(start, make([]byte, binary.BigEndian.Uint32(start[head-4:])-4))
		if _, err := io.ReadFull(client, message[head:]); err != nil {
			return
		}
		commits := head == 5 && message[0] == 'Q' // as all do that have no arguments
		sent := commits || head == 5 && message[0] == 'S'
		answered := c.commits.Load()
		cut := sent && (commits || !answered) && c.left.Add(-1) == 0
		if cut {
			c.cuts.Add(1)
			if !answered {
				return
			}
			mute.Store(true)
		}
		if _, err := server.Write(message); err != nil {
			return
		}
		if cut {
			<-ended
			return
		}
	}
}

// drawn is a test whose helpers fail one drawn sequence of it.
type drawn struct {
	testing.TB
	r *rapid.T
}

func (d drawn) Helper()                   {}
func (d drawn) Error(args ...any)         { d.r.Error(args...) }
func (d drawn) Errorf(f string, a ...any) { d.r.Errorf(f, a...) }
func (d drawn) Fatal(args ...any)         { d.r.Fatal(args...) }
func (d drawn) Fatalf(f string, a ...any) { d.r.Fatalf(f, a...) }
func (d drawn) Failed() bool              { return d.r.Failed() }

// books are the budgets of one sequence of steps, and all usage that was reported.
type books struct {
	*testWorkspace // its connections are never cut
	cut            *testWorkspace
	cutter         *cutter
	r              *rapid.T
	both           []budgets.Budget // the hard one of the workspace, the soft one of a product
	agents         []*spender
	told           []*told
	steps          *stepCount
}

// spender is an agent, and the jobs that it believes to hold or has held.
type spender struct {
	tenancy.Principal

	held, former []jobs.Job
}

// told is a usage entry as it was reported last.
type told struct {
	by    *spender
	ref   lease.Ref
	id    string
	cents int64
}

// stepCount is how many steps there were, and how many of them did what they were to.
type stepCount struct{ all, done, failed, unknown int }

// However the connections of a process are cut between its statements, and whatever is
// called again, budgets have settled what was charged and reserved what leases hold.
func TestBudgetsAgreeAfterKills(t *testing.T) {
	for name, value := range map[string]string{"rapid.checks": "8", "rapid.nofailfile": "true", "rapid.shrinktime": "10s"} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	sound := newTestWorkspace(t)
	cutter := newCutter(t, sound.DB)
	d, err := db.Open(t.Context(), db.Options{OwnerURL: cutter.url, MaxConns: 4, AcquireTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	cut := inWorkspace(t, d, sound.Workspace)
	count := &stepCount{}
	rapid.Check(t, func(r *rapid.T) {
		b := newBooks(t, r, sound, cut)
		b.cutter, b.steps = cutter, count
		for range rapid.IntRange(40, 60).Draw(r, "steps") {
			b.step()
		}
		b.agree()
	})
	t.Logf("%d steps, %d connections cut, %d commits without an answer; %d steps were carried out, %d were not",
		count.all, cutter.cuts.Load(), count.unknown, count.done, count.failed)
	if !t.Failed() && (count.done < count.all/3 || cutter.cuts.Load() < int64(count.all/10)) {
		t.Error("too little was carried out or cut to show anything")
	}
}

// newBooks returns an empty workspace with two budgets, three agents and jobs of two products.
func newBooks(t *testing.T, r *rapid.T, sound, cut *testWorkspace) *books {
	t.Helper()
	// What another sequence has left does not count.
	dbfactory.Exec(t, sound.DB, `TRUNCATE workspace CASCADE`)
	in := func(of *testWorkspace) *testWorkspace {
		w := *of.Fixture
		w.T = drawn{t, r}
		return &testWorkspace{&w}
	}
	b := &books{testWorkspace: in(sound), cut: in(cut), r: r}
	b.Workspace = dbfactory.Workspace(t, sound.DB)
	b.Owner = dbfactory.Person(b.Workspace, tenancy.RoleOwner)
	b.cut.Workspace, b.cut.Owner = b.Workspace, b.Owner
	b.Product("other", jobs.ProductSettings{})
	for i := range 3 {
		b.agents = append(b.agents, &spender{Principal: b.Agent(fmt.Sprint("agent-", i))})
	}
	once := func(in *budgets.Input) { in.Period = budgets.Once }
	b.both = []budgets.Budget{b.budget(120, once), b.budget(40, once, named("Other"), func(in *budgets.Input) {
		in.Scope, in.Product, in.Hard = budgets.Product, "other", false
	})}
	for i := range 16 {
		b.Job(fmt.Sprint("job ", i), inProduct([]string{"default", "other"}[i%2]), retries(10, 0), dispatchtest.Losses(100))
	}
	return b
}

func (b *books) number(label string, least, most int) int {
	return rapid.IntRange(least, most).Draw(b.r, label)
}

// try carries a step out over connections of which one may be cut, and does it again
// under the same ids where that is drawn. It returns whether it was carried out for sure.
func (b *books) try(what string, do func() error) bool {
	b.steps.all++
	switch b.number("cut", 0, 3) {
	case 1, 2:
		b.cutter.arm(b.number("statement", 1, 16), false)
	case 3:
		b.cutter.arm(b.number("commit", 1, 3), true)
	}
	err := do()
	b.cutter.arm(0, false)
	if errors.Is(err, db.ErrOutcomeUnknown) {
		b.steps.unknown++
	}
	for again := b.number("again", 0, 3); again > 0 && fault.Is(err, fault.Unavailable); again-- {
		err = do()
	}
	if err == nil {
		b.steps.done++
		return true
	}
	b.steps.failed++
	if code := fault.From(err).Code; code != fault.Unavailable && !code.Conflict() {
		b.r.Fatalf("%s: %v", what, err)
	}
	return false
}

// step does one thing that agents, people or the clock do.
func (b *books) step() {
	a := b.agents[b.number("agent", 0, len(b.agents)-1)]
	cents := spend.Nanos(b.number("cents", 1, 30)) * cent
	from := b.number("budget", 0, 1)
	of, other := b.both[from], b.both[1-from]
	switch what := rapid.SampledFrom([]string{"claim", "claim", "tell", "tell", "tell", "tell more", "tell more", "complete", "release",
		"fail", "lapse", "raise", "transfer", "patch"}).Draw(b.r, "step"); what {
	case "claim":
		b.claim(a)
	case "tell":
		b.tell(a)
	case "tell more":
		if len(b.told) > 0 {
			e := b.told[b.number("entry", 0, len(b.told)-1)]
			e.cents += int64(b.number("more", 1, 6))
			b.try(what, func() error { return b.record(b.cut, e) })
		}
	case "complete", "release", "fail":
		b.end(a, what)
	case "lapse":
		dbfactory.Exec(b.T, b.DB, `UPDATE job_lease SET expires_at = clock_timestamp() - interval '1 second' WHERE job_id =
			(SELECT job_id FROM job_lease ORDER BY claimed_at LIMIT 1)`)
		b.try(what, func() error { _, err := b.cut.Dispatch.Reclaim(b.Ctx, b.Owner, ""); return err })
	case "raise":
		b.try(what, func() error {
			_, err := b.cut.money().Raise(b.Ctx, b.Owner, of.ID, budgets.Raise{Amount: cents, Reason: "more"})
			return err
		})
	case "transfer":
		b.try(what, func() error {
			_, err := b.cut.money().Transfer(b.Ctx, b.Owner, of.ID, budgets.Transfer{To: other.ID, Amount: cents, Reason: "there"})
			return err
		})
	case "patch":
		limit := cents * spend.Nanos(b.number("times", 1, 10))
		b.try(what, func() error {
			_, err := b.cut.money().Change(b.Ctx, b.Owner, of.ID, budgets.Patch{Money: budgets.Ceiling[spend.Nanos]{Set: true, Value: &limit}})
			return err
		})
	}
}

// claim takes a job. One whose answer was lost is held and nobody knows.
func (b *books) claim(a *spender) {
	in := claim.Request{RequestID: fmt.Sprint("claim ", b.steps.all)}
	b.try("claim", func() error {
		got, err := b.cut.Dispatch.Claim(b.Ctx, a.Principal, in)
		if err == nil {
			a.held = append(a.held, got.Jobs...)
		}
		return err
	})
}

// tell reports an entry of a job that the agent holds, or has held.
func (b *books) tell(a *spender) {
	of := a.held
	if len(of) == 0 || b.number("late", 0, 5) == 0 {
		of = a.former
	}
	if len(of) == 0 {
		return
	}
	j := of[b.number("job", 0, len(of)-1)]
	e := &told{by: a, ref: ref(j), id: fmt.Sprint("entry ", len(b.told)), cents: int64(b.number("cost", 1, 8))}
	b.told = append(b.told, e)
	b.try("tell", func() error { return b.record(b.cut, e) })
}

// record reports an entry as it is now.
func (b *books) record(by *testWorkspace, e *told) error {
	cost := (spend.Nanos(e.cents) * cent).USD()
	answers, err := by.Dispatch.RecordUsage(b.Ctx, e.by.Principal, []report.UsageLine{{Lease: e.ref,
		Entry: spend.Entry{ID: e.id, Provider: "house", Model: "house-1", Input: 1, CostUSD: &cost, At: time.Now()}}})
	if err == nil && answers[0].Refused != nil {
		b.r.Fatalf("%s of %s is refused: %v", e.id, e.ref.Job, answers[0].Refused)
	}
	return err
}

// end ends a lease that the agent believes to hold.
func (b *books) end(a *spender, how string) {
	if len(a.held) == 0 {
		return
	}
	i := b.number("job", 0, len(a.held)-1)
	j := a.held[i]
	var last error
	b.try(how, func() error {
		switch how {
		case "complete":
			_, last = b.cut.Dispatch.Complete(b.Ctx, a.Principal, ref(j), report.Completion{})
		case "release":
			_, last = b.cut.Dispatch.Release(b.Ctx, a.Principal, ref(j), report.Release{Reason: "tired"})
		default:
			_, last = b.cut.Dispatch.Fail(b.Ctx, a.Principal, ref(j), report.Failure{Error: "broken"})
		}
		return last
	})
	if !fault.Is(last, fault.Unavailable) {
		a.held, a.former = slices.Delete(a.held, i, i+1), append(a.former, j)
	}
}

// agree reports all entries once more, whose outcome may be unknown, and compares each
// budget with what was reported, with what is stored of it, and with what leases hold.
func (b *books) agree() {
	for _, e := range b.told {
		err := b.record(b.testWorkspace, e)
		for again := 3; again > 0 && fault.Is(err, fault.Unavailable); again-- { // a cut transaction may not have ended yet
			err = b.record(b.testWorkspace, e)
		}
		if err != nil {
			b.r.Fatal(err)
		}
	}
	var all int64
	for _, e := range b.told {
		all += e.cents
	}
	settled := dbfactory.Int(b.T, b.DB, `SELECT sum(settled_nanos)::bigint FROM budget_period WHERE budget_id = $1`, b.both[0].ID)
	if int64(settled) != all*int64(cent) {
		b.r.Errorf("%d nano-dollars are settled; %d cents were told", settled, all)
	}
	wrong := dbfactory.Text(b.T, b.DB, `SELECT coalesce(string_agg(concat_ws(' ', b.name, p.settled, u.charged, p.reserved, v.held,
			p.runs, a.runs), E'\n'), '') FROM budget b
		CROSS JOIN LATERAL (SELECT sum(settled_nanos) AS settled, sum(reserved_nanos) AS reserved, sum(runs) AS runs
			FROM budget_period x WHERE x.budget_id = b.id) p
		CROSS JOIN LATERAL (SELECT coalesce(sum(e.charged_nanos), 0) AS charged FROM usage_entry e JOIN job j ON j.id = e.job_id
			WHERE b.product_id IS NULL OR j.product_id = b.product_id) u
		CROSS JOIN LATERAL (SELECT coalesce(sum(r.held_nanos), 0) AS held FROM budget_reservation r WHERE r.budget_id = b.id) v
		CROSS JOIN LATERAL (SELECT count(*) AS runs FROM attempt t JOIN job j ON j.id = t.job_id
			WHERE b.product_id IS NULL OR j.product_id = b.product_id) a
		WHERE (p.settled, p.reserved, p.runs) IS DISTINCT FROM (u.charged, v.held, a.runs::numeric)`)
	if wrong != "" {
		b.r.Errorf("budgets differ (settled, charged; reserved, held; runs, attempts):\n%s", wrong)
	}
	b.ledgerIsRight()
	b.Consistent()
	found, err := audit.Run(b.Ctx, b.DB)
	if err != nil || found.Found() > 0 {
		b.r.Errorf("the audit finds %d, %v: %v", found.Found(), err, found.Findings)
	}
}
