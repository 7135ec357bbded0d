package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/leadership"
	"github.com/fleetboard/fleetboard/internal/leadership/servers"
	"github.com/fleetboard/fleetboard/internal/notifier"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// hands do what a coordinator calls for, and report each call.
type hands struct {
	called chan string
	reaped int
	fails  error
}

func newHands() *hands { return &hands{called: make(chan string, 100)} }

func (h *hands) work() Work {
	return Work{h, h, h, h, h, h, h, h, h, h, h, h, h, h, h, h, h, h, h, h, h, h, h, h}
}

func (h *hands) call(what string) (int, error) {
	h.called <- what
	return 0, nil
}

func (h *hands) Reap(context.Context) (int, error) {
	h.called <- "reap"
	return h.reaped, h.fails
}
func (h *hands) Warn(context.Context) (int, error)              { return h.call("warn") }
func (h *hands) TimeOut(context.Context) (int, error)           { return h.call("time out") }
func (h *hands) FailCycles(context.Context) (int, error)        { return h.call("fail cycles") }
func (h *hands) AgeReady(context.Context) (int, error)          { return h.call("age ready") }
func (h *hands) Preempt(context.Context) (int, error)           { return h.call("preempt") }
func (h *hands) EnforceStops(context.Context) (int, error)      { return h.call("enforce stops") }
func (h *hands) Sample(context.Context) (int, error)            { return h.call("sample pools") }
func (h *hands) Promote(context.Context) (int, error)           { return h.call("promote") }
func (h *hands) SweepDependencies(context.Context) (int, error) { return h.call("sweep dependencies") }
func (h *hands) Compact(context.Context) (int, error)           { return h.call("compact") }
func (h *hands) ExpireDecisions(context.Context) (int, error)   { return h.call("expire decisions") }
func (h *hands) ExpireOffers(context.Context) (int, error)      { return h.call("expire offers") }
func (h *hands) ExpireDeadOffers(context.Context) (int, error)  { return h.call("expire dead offers") }
func (h *hands) ExpireTranscripts(context.Context) (int, error) { return h.call("expire transcripts") }
func (h *hands) ExpireLogs(context.Context) (int, error)        { return h.call("expire logs") }
func (h *hands) IndexTexts(context.Context) (int, error)        { return h.call("index texts") }
func (h *hands) IndexLogs(context.Context) (int, error)         { return h.call("index logs") }
func (h *hands) IndexWords(context.Context) (int, error)        { return h.call("index messages") }
func (h *hands) Seal(context.Context) (int, error)              { return h.call("seal") }
func (h *hands) RotateSecrets(context.Context) (int, error)     { return h.call("rotate secrets") }
func (h *hands) RotateKeys(context.Context) (int, error)        { return h.call("rotate keys of blobs") }
func (h *hands) RotateWebhookKeys(context.Context) (int, error) {
	return h.call("rotate keys of webhooks")
}
func (h *hands) Collect(context.Context) (int, error)          { return h.call("collect blobs") }
func (h *hands) Sweep(context.Context) (int, error)            { return h.call("sweep budgets") }
func (h *hands) Foresee(context.Context) (int, error)          { return h.call("foresee budgets") }
func (h *hands) Extend(context.Context) (int, error)           { return h.call("extend the history of costs") }
func (h *hands) MergeApproved(context.Context) (int, error)    { return h.call("merge approved") }
func (h *hands) EndVerifications(context.Context) (int, error) { return h.call("end verifications") }
func (h *hands) Bridge(context.Context) (int, error)           { return h.call("bridge messages") }
func (h *hands) DropOld(context.Context) (int, error)          { return h.call("drop old messages") }
func (h *hands) PriceUsage(context.Context) (int, error)       { return h.call("price usage") }
func (h *hands) Look(context.Context) (int, error)             { return h.call("look what to notify of") }
func (h *hands) Send(context.Context) (int, error)             { return h.call("send notifications") }
func (h *hands) Expire(context.Context) error {
	_, err := h.call("expire")
	return err
}

// topics remembers what was published.
type topics struct {
	mu   sync.Mutex
	list []string
}

func (p *topics) Publish(names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, names...)
}

func (*topics) Status() notifier.Status { return notifier.Status{} }

func (p *topics) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.list
	p.list = nil
	return list
}

// serve runs a coordinator until the returned function has ended it.
func serve(t *testing.T, s *Service) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = s.Run(ctx)
	}()
	end := sync.OnceFunc(func() { cancel(); <-over })
	t.Cleanup(end)
	return end
}

// within waits for something that another goroutine does.
func within(t *testing.T, what string, yes func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 6000 {
		if yes() {
			return
		}
		<-tick.C
	}
	t.Fatalf("a minute has passed without %s", what)
}

func mustStatus(t *testing.T, s *Service) Status {
	t.Helper()
	status, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// messages returns the lines that a member sees, newest first.
func messages(t *testing.T, s *Service, who tenancy.Principal) []string {
	t.Helper()
	lines, _, err := s.Logs(t.Context(), who, LogFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, l := range lines {
		list = append(list, l.Message)
	}
	return list
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestTheLeaderDoesAllItsWorkAndTellsOfIt(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	owner := dbfactory.Person(dbfactory.Workspace(t, d), tenancy.RoleOwner)
	h := newHands()
	h.reaped = 2
	s := New(d, servers.NewName(), h.work(), &topics{}, quiet())
	stop := serve(t, s)
	want := []string{"age ready", "bridge messages", "collect blobs", "compact", "drop old messages", "end verifications", "enforce stops", "expire", "expire dead offers", "expire decisions", "expire logs", "expire offers", "expire transcripts", "extend the history of costs", "fail cycles",
		"foresee budgets", "index logs", "index messages", "index texts", "look what to notify of", "merge approved", "preempt", "price usage", "promote", "reap", "rotate keys of blobs", "rotate keys of webhooks", "rotate secrets", "sample pools",
		"seal", "send notifications", "sweep budgets", "sweep dependencies", "time out", "warn"}
	called := map[string]bool{}
	for len(called) < len(want) {
		called[<-h.called] = true
	}
	if list := slices.Sorted(maps.Keys(called)); !slices.Equal(list, want) {
		t.Errorf("the first cycles were %v; want %v", list, want)
	}
	within(t, "a cycle in the leader's row", func() bool { return mustStatus(t, s).Cycles > 0 })
	is := mustStatus(t, s)
	if !is.Active || !is.Healthy() || is.Holder != s.instance || is.Term != 1 || is.Since == nil {
		t.Errorf("while it leads: %+v", is)
	}
	other := New(d, servers.NewName(), newHands().work(), &topics{}, quiet())
	if same := mustStatus(t, other); same.Holder != s.instance || other.instance == s.instance {
		t.Errorf("another process sees %+v", same)
	}
	stop()
	is = mustStatus(t, s)
	if is.Active || is.Healthy() || is.Stats[string(takenBack)] < 2 || is.Cycles < 9 {
		t.Errorf("after it left: %+v", is)
	}
	list := messages(t, s, owner)
	if list[0] != "Leads no longer." || list[len(list)-1] != "Leads from now on." || !strings.Contains(strings.Join(list, " "), "leases taken back.") {
		t.Errorf("the log says %q", list)
	}
}

func TestBeforeTheFirstElectionNobodyLeads(t *testing.T) {
	t.Parallel()
	s := New(dbtest.New(t), servers.NewName(), Work{}, &topics{}, quiet())
	if is := mustStatus(t, s); is.Active || is.Holder != "" || is.Healthy() || is.Stats == nil {
		t.Errorf("before the first election: %+v", is)
	}
}

func TestWhoDoesNotLeadDoesNothing(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	first, second := newHands(), newHands()
	leader := New(d, servers.NewName(), first.work(), &topics{}, quiet())
	serve(t, leader)
	<-first.called
	idle := New(d, servers.NewName(), second.work(), &topics{}, quiet())
	stop := serve(t, idle)
	for range 10 {
		<-first.called // some cycles later
	}
	stop()
	select {
	case what := <-second.called:
		t.Errorf("the one that does not lead called %s", what)
	default:
	}
	if is := mustStatus(t, idle); is.Holder != leader.instance || is.Term != 1 {
		t.Errorf("status %+v", is)
	}
}

// A process that was stopped and goes on checks its own clock before it acts.
func TestATermThatIsOverDoesNothing(t *testing.T) {
	t.Parallel()
	h := newHands()
	m := &term{Service: &Service{work: h.work()}, Term: &leadership.Term{Number: 3}, counters: newCounters()}
	for _, l := range m.loops() {
		if l.Name == "report" {
			continue
		}
		if err := l.Do(t.Context()); err != nil {
			t.Errorf("%s: %v", l.Name, err)
		}
	}
	if len(h.called) != 0 || m.counters.cycles != 0 {
		t.Errorf("%d calls, %d cycles; want none", len(h.called), m.counters.cycles)
	}
}

// termOf returns a term of a process that has just been elected.
func termOf(t *testing.T, d *db.DB, wake Notifier) *term {
	t.Helper()
	s := New(d, servers.NewName(), newHands().work(), wake, quiet())
	ctx, cancel := context.WithCancel(context.Background())
	got, over := make(chan *leadership.Term), make(chan struct{})
	go func() {
		defer close(over)
		_ = s.election.Run(ctx, func(ctx context.Context, l *leadership.Term) { got <- l; <-ctx.Done() })
	}()
	t.Cleanup(func() { cancel(); <-over })
	return &term{Service: s, Term: <-got, counters: newCounters()}
}

func TestFailedCyclesAreNoLife(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	m := termOf(t, d, &topics{})
	broken := m.counted(takenBack, func(context.Context) (int, error) { return 1, errors.New("no luck") })
	if err := broken(t.Context()); err == nil {
		t.Error("the failure is lost")
	}
	if err := m.report(t.Context()); err != nil {
		t.Fatal(err)
	}
	if is := mustStatus(t, m.Service); is.LastCycleAt != nil || is.Cycles != 0 || is.Healthy() {
		t.Errorf("a cycle that failed counts as life: %+v", is)
	}
	fine := m.counted(promoted, func(context.Context) (int, error) { return 3, nil })
	if err := errors.Join(fine(t.Context()), m.report(t.Context())); err != nil {
		t.Fatal(err)
	}
	is := mustStatus(t, m.Service)
	if is.Cycles != 1 || is.Stats[string(takenBack)] != 1 || is.Stats[string(promoted)] != 3 || !is.Healthy() {
		t.Errorf("status %+v", is)
	}
	// A minute without a cycle is no life either, though the lease goes on.
	dbfactory.Exec(t, d, `UPDATE leadership SET last_cycle_at = clock_timestamp() - interval '61 seconds'`)
	if is := mustStatus(t, m.Service); is.Healthy() || !is.Active {
		t.Errorf("status %+v", is)
	}
}

// A loop that deletes goes on until nothing is left, as long as it may.
func TestWhatIsOldIsDeletedToTheLast(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	m := termOf(t, d, &topics{})
	left := []int{10_000, 10_000, 7, 0, 10_000}
	part := func(context.Context) (int, error) {
		n := left[0]
		left = left[1:]
		return n, nil
	}
	if n, err := m.untilNothingIsLeft(part)(t.Context()); n != 20_007 || err != nil || len(left) != 1 {
		t.Errorf("deleted %d, %v; %v is left", n, err, left)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := m.untilNothingIsLeft(part)(over); n != 0 || err != nil {
		t.Errorf("after its time it deleted %d, %v", n, err)
	}
	dbfactory.Exec(t, d, `INSERT INTO coordinator_log (instance_id, term, level, message, at)
		SELECT 'x', 1, 'INFO', 'old', now() - interval '31 days' FROM generate_series(1, $1)`, expireBatch*2+1)
	if n, err := m.untilNothingIsLeft(m.expireLog)(t.Context()); n != expireBatch*2+1 || err != nil {
		t.Errorf("%d lines, %v", n, err)
	}
}

// Lines are written where something was done, and not for a look.
func TestReportsThatFailAreMadeAgain(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	owner := dbfactory.Person(dbfactory.Workspace(t, d), tenancy.RoleOwner)
	m := termOf(t, d, &topics{})
	m.counters.addCycle()
	m.counters.add(takenBack, 1)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.report(ended); err == nil {
		t.Fatal("a report without a database was made")
	}
	m.counters.add(takenBack, 2)
	m.counters.add(promoted, 1)
	for range 2 {
		if err := m.report(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	m.counters.addCycle()
	if err := m.report(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := messages(t, m.Service, owner); !slices.Equal(list, []string{"3 leases taken back, 1 job made ready."}) {
		t.Errorf("the log says %q", list)
	}
	if is := mustStatus(t, m.Service); is.Cycles != 2 || is.Stats[string(takenBack)] != 3 {
		t.Errorf("status %+v", is)
	}
}

func TestTheLogIsForThoseWhoRunTheFleet(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	ws := dbfactory.Workspace(t, d)
	s := New(d, servers.NewName(), Work{}, &topics{}, quiet())
	for role, may := range map[tenancy.Role]bool{tenancy.RoleOwner: true, tenancy.RoleAdmin: true, tenancy.RoleMember: false, tenancy.RoleViewer: false} {
		if _, _, err := s.Logs(t.Context(), dbfactory.Person(ws, role), LogFilter{Limit: 10}); (err == nil) != may || err != nil && !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: %v", role, err)
		}
	}
	dbfactory.Exec(t, d, `INSERT INTO coordinator_log (instance_id, term, level, message)
		SELECT 'x', 1, 'INFO', 'line ' || n FROM generate_series(1, 5) n`)
	owner := dbfactory.Person(ws, tenancy.RoleOwner)
	page, next, err := s.Logs(t.Context(), owner, LogFilter{Limit: 2})
	if err != nil || len(page) != 2 || page[0].Message != "line 5" {
		t.Fatalf("%+v, %v", page, err)
	}
	if page, next, err = s.Logs(t.Context(), owner, LogFilter{Before: next, Limit: 10}); err != nil || next != 0 || len(page) != 3 || page[0].Message != "line 3" {
		t.Errorf("older ones: %+v, %v", page, err)
	}
}

// A level that is rare is found in pages that look at a bounded part of the log.
func TestTheLogIsReadByLevel(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	owner := dbfactory.Person(dbfactory.Workspace(t, d), tenancy.RoleOwner)
	s := New(d, servers.NewName(), Work{}, &topics{}, quiet())
	dbfactory.Exec(t, d, `INSERT INTO coordinator_log (instance_id, term, level, message)
		SELECT 'x', 1, CASE n WHEN 1 THEN 'ERROR' WHEN 2 THEN 'WARNING' WHEN 12000 THEN 'CRITICAL' ELSE 'INFO' END, 'line ' || n
		FROM generate_series(1, 12000) n ORDER BY n`)
	for limit, want := range map[int]int{1: 4, 100: 3} {
		var list []string
		pages := 0
		for next := int64(0); pages == 0 || next > 0; pages++ {
			var lines []LogLine
			var err error
			if lines, next, err = s.Logs(t.Context(), owner, LogFilter{Level: "WARNING", Before: next, Limit: limit}); err != nil || pages > 9 {
				t.Fatalf("page %d: %v", pages, err)
			}
			for _, l := range lines {
				list = append(list, l.Message)
			}
		}
		if got := strings.Join(list, ", "); got != "line 12000, line 2, line 1" || pages > want+1 {
			t.Errorf("by %d: %s in %d pages", limit, got, pages)
		}
	}
}

func TestOldLinesAreDeletedInEveryWorkspace(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	m := termOf(t, d, &topics{})
	for _, ws := range []any{nil, dbfactory.Workspace(t, d), dbfactory.Workspace(t, d)} {
		dbfactory.Exec(t, d, `INSERT INTO coordinator_log (workspace_id, instance_id, term, level, message, at)
			SELECT $1::uuid, 'x', 1, 'INFO', age, now() - age::interval FROM unnest(ARRAY['29 days', '31 days']) age`, ws)
	}
	if n, err := m.expireLog(t.Context()); n != 3 || err != nil {
		t.Errorf("%d lines were deleted (%v); want 3", n, err)
	}
	if n := dbfactory.Int(t, d, `SELECT count(*) FROM coordinator_log WHERE message = '29 days'`); n != 3 {
		t.Errorf("%d lines of the last 30 days are left; want 3", n)
	}
}
