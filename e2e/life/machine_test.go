package life

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/envtest"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
)

// defaultSequences is how many random lives one run drives; the variable
// FLEETBOARD_LIFE_SEQUENCES says otherwise.
const (
	defaultSequences = 1000
	workers          = 4
)

// machine is one sequence: the workspace it runs in, and the model beside it.
type machine struct {
	*testWorkspace
	*model
	r       *rapid.T
	tokens  []*enrolment
	agents  []*worker // present boots
	former  []*worker // replaced ones
	leases  []lease   // all that were ever given
	reached map[string]bool
	trace   []string
}

// Every sequence of calls leaves the jobs as the table in docs/concepts.md says, every
// write with an ended lease is refused with its reason, and nothing else changes.
func TestWholeLives(t *testing.T) {
	sequences := envtest.Number(t, "FLEETBOARD_LIFE_SEQUENCES", defaultSequences)
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(sequences / workers), "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	reached := map[string]bool{}
	var failed atomic.Int64 // the number of the first worker that found something, from 1
	t.Run("sequences", func(t *testing.T) {
		for n := range workers {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()
				s := newServer(t)
				conn := dbtest.Owner(t, s.db)
				rapid.Check(t, func(r *rapid.T) {
					if by := failed.Load(); by != 0 && by != int64(n+1) {
						return // what another one found is enough
					}
					defer func() {
						if r.Failed() {
							failed.CompareAndSwap(0, int64(n+1))
						}
					}()
					m := newMachine(r, s.newTestWorkspace(r, conn))
					for range rapid.IntRange(10, 40).Draw(r, "steps") {
						m.next()
					}
					mu.Lock()
					defer mu.Unlock()
					maps.Copy(reached, m.reached)
				})
				s.isTold(t)
			})
		}
	})
	for _, status := range []string{"waiting", "ready", "assigned", "running", "paused", "blocked", "in_review", "approved",
		"completed", "failed", "aborted", "archived"} {
		if !reached[status] {
			t.Errorf("no sequence led through %s", status)
		}
	}
}

// isTold checks that the log gives every stored field of all jobs of the server.
func (s *server) isTold(t *testing.T) {
	t.Helper()
	report, err := audit.Verify(t.Context(), s.db)
	if err != nil {
		t.Fatal(err)
	}
	if report.Jobs == 0 || report.Found() > 0 {
		t.Errorf("of %d jobs the log does not tell %d, %s of all sequences: %.3000v", report.Jobs, report.Found(), trail, report.Findings)
	}
}

func newMachine(r *rapid.T, w *testWorkspace) *machine {
	m := &machine{testWorkspace: w, model: &model{hosts: map[string]*enrolment{}}, r: r, reached: map[string]bool{}}
	m.oneJobPerRepo = rapid.Bool().Draw(r, "one job per repo")
	m.reviewLimit = draw(r, "review limit", []int{0, 1, 1, 2})
	settings := object{"one_job_per_repo": m.oneJobPerRepo}
	if m.reviewLimit > 0 {
		settings["review_limit"] = m.reviewLimit
	}
	m.want(m.call(m.person, "PUT", "/products/default", settings), "")
	m.note("product %v", settings)
	m.tokens = []*enrolment{w.enrolmentToken("wide", false), w.enrolmentToken("equal", false), w.enrolmentToken("narrow", true)}
	for i, name := range []string{"ada", "bob"} {
		next := m.boot(name, i == 0, draw(r, "token", m.tokens))
		m.want(m.register(next), "")
		m.agents, m.hosts[name] = append(m.agents, next), next.enrolment
	}
	return m
}

// next draws and does one step, and compares all jobs with the model.
func (m *machine) next() {
	m.step++
	steps := m.steps()
	names := slices.Sorted(maps.Keys(steps))
	name := draw(m.r, "step", names)
	steps[name]()
	m.settle()
	m.compare(m.list())
}

func (m *machine) compare(found map[string]job) {
	for _, c := range m.cards {
		m.reached[c.status] = true
		if text := c.differs(found[c.key]); text != "" {
			m.stop("%s is %s", c.key, text)
		}
	}
}

// trail is said before the calls of a sequence that ended with a surprise.
const trail = "after these calls"

func (m *machine) stop(format string, args ...any) {
	history := ""
	for _, line := range m.trace {
		history += "\n  " + line
	}
	m.r.Fatalf("%s\n%s:%s", fmt.Sprintf(format, args...), trail, history)
}

func (m *machine) note(format string, args ...any) {
	m.trace = append(m.trace, fmt.Sprintf("%2d ", m.step)+fmt.Sprintf(format, args...))
}

// want compares an answer: code "" is a success.
func (m *machine) want(a answer, code string) {
	if a.code != code || code == "" && a.status >= 300 {
		m.stop("answered %v; expected %q", a, code)
	}
}

func (m *machine) steps() map[string]func() {
	steps := map[string]func(){"create": m.create, "create more": m.create}
	if len(m.cards) == 0 {
		return steps
	}
	for name, step := range map[string]func(){
		"claim": m.claim, "claim more": m.claim, "claim again": m.claim, "beat": m.beat, "start": m.report("start"), "progress": m.report("progress"), "renew": m.report("renew"),
		"complete": m.handIn, "complete more": m.handIn, "complete again": m.handIn, "fail": m.failed, "fail again": m.failed, "give back": m.release, "ask": m.ask, "link": m.link, "unlink": m.unlink,
		"lease ends": m.leaseEnds, "agent dies": m.agentDies, "grace ends": m.graceEnds, "time passes": m.timePasses,
		"agent restarts": m.restart, "another token": m.another, "token revoked": m.revoke, "token revoked again": m.revoke, "coordinator": m.coordinate, "coordinator again": m.coordinate,
	} {
		steps[name] = step
	}
	for _, verb := range []string{"pause", "resume", "block", "unblock", "answer", "cancel", "retry", "approve", "reject", "merge",
		"merge-failed", "archive", "release"} {
		steps["person: "+verb] = m.byPerson(verb)
	}
	return steps
}

// draw picks one of a list, each as likely as the others: rapid's own numbers
// are small ones most of the time.
func draw[T any](r *rapid.T, label string, list []T) T {
	n := 0
	for range 8 {
		n *= 2
		if rapid.Bool().Draw(r, label) {
			n++
		}
	}
	return list[n%len(list)]
}

// any draws a card, most often one that the wanted statuses fit.
func (m *machine) any(statuses ...string) *card {
	var fit []*card
	for _, c := range m.cards {
		if c.is(statuses...) {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 || draw(m.r, "whatever", []int{0, 1, 2, 3, 4, 5}) == 0 {
		fit = m.cards
	}
	return draw(m.r, "job", fit)
}

// suits are the statuses that a person's verb starts from.
var suits = map[string][]string{
	"pause": {"waiting", "ready", "assigned", "running"}, "resume": {"paused", "assigned", "running"}, "block": {"waiting", "ready", "paused"},
	"unblock": {"blocked"}, "answer": {"blocked"}, "cancel": {"waiting", "ready", "assigned", "running", "paused", "blocked", "in_review"},
	"retry": {"failed", "aborted", "completed"}, "approve": {"in_review"}, "reject": {"in_review"}, "merge": {"approved"},
	"merge-failed": {"approved"}, "archive": {"completed", "failed", "aborted"}, "release": {"assigned", "running"},
}

func (m *machine) byPerson(verb string) func() {
	return func() {
		c := m.any(suits[verb]...)
		word := fmt.Sprintf("word %d", m.step)
		body := object{}
		switch verb {
		case "block", "reject", "merge-failed", "cancel", "release":
			body["reason"] = word
		case "answer":
			body["answer"] = word
		}
		m.note("%s %s (%s)", verb, c.key, c.status)
		a := m.call(m.person, "POST", "/jobs/"+c.key+"/"+verb, body)
		if m.act(c, verb, word) {
			m.want(a, "")
		} else {
			m.want(a, "invalid_transition")
		}
	}
}

func (m *machine) create() {
	c := &card{priority: rapid.IntRange(4, 6).Draw(m.r, "priority"), needsExtra: rapid.Bool().Draw(m.r, "extra"),
		reviewed: draw(m.r, "reviewed", []int{0, 1, 2, 3}) > 0, timed: rapid.IntRange(0, 4).Draw(m.r, "timed") == 0, outcomes: map[int64]string{}, said: map[int64]string{}}
	body := object{"title": "job", "priority": c.priority, "review_required": c.reviewed, "max_retries": maxRetries, "max_lost": maxLost,
		"retry_backoff_seconds": 600, "capabilities": []string{"life"}}
	if c.vega = draw(m.r, "vega", []int{0, 1, 2}) == 0; c.vega {
		body["product"] = "vega"
	} else if c.repo = rapid.Bool().Draw(m.r, "repo"); c.repo {
		body["repo"] = "atlas"
	}
	if rapid.Bool().Draw(m.r, "long") {
		body["body"] = strings.Repeat("a long text ", 200)
	}
	if c.needsExtra {
		body["capabilities"] = []string{"life", "extra"}
	}
	if c.timed {
		body["not_before"] = "2099-01-01T00:00:00Z"
	}
	if len(m.cards) > 0 && rapid.Bool().Draw(m.r, "dependent") {
		d := draw(m.r, "dependency", m.cards)
		c.deps, body["depends_on"] = []*card{d}, []string{d.key}
	}
	a := m.call(m.person, "POST", "/jobs", body)
	m.want(a, "")
	var made job
	m.decode(a, &made)
	c.key = made.Key
	m.cards = append(m.cards, c)
	m.claimable(c)
	m.note("create %s %s", c.key, c.status)
}

// boot returns a start of an agent, with a token to register it.
func (m *machine) boot(name string, extra bool, token *enrolment) *worker {
	return &worker{name: name, boot: fmt.Sprintf("boot-%d", m.step), extra: extra, enrolment: token}
}

func (m *machine) register(w *worker) answer {
	capabilities := []string{"life"}
	if w.extra {
		capabilities = append(capabilities, "extra")
	}
	a := m.call(w.enrolment.token, "PUT", "/agents/"+w.name, object{"boot_id": w.boot, "max_concurrent_jobs": seats, "capabilities": capabilities,
		"heartbeat_interval_seconds": 60, "factory": object{"name": "host-" + w.name, "seats": seats, "repos": []object{{"name": "atlas"}}}})
	if a.code == "" {
		var registered struct {
			Token string `json:"token"`
		}
		m.decode(a, &registered)
		w.token = registered.Token
	}
	return a
}

func (m *machine) worker() *worker { return draw(m.r, "agent", m.agents) }

func (m *machine) restart() {
	old := m.worker()
	m.note("%s restarts", old.name)
	m.replace(old, m.boot(old.name, old.extra, old.enrolment))
}

// another registers an agent with any token: where it is not its own it must reach as far.
func (m *machine) another() {
	old := m.worker()
	next := m.again(old)
	m.note("%s, of the token %s, registers with %s as %s", old.name, old.enrolment.name, next.enrolment.name, next.boot)
	m.replace(old, next)
}

// allowed reports whether a token may register what an agent becomes.
func (m *machine) allowed(old, next *worker) bool {
	return next.enrolment.takes(old.enrolment) && (next.enrolment.takes(m.hosts[old.name]) || next.enrolment == old.enrolment)
}

// again returns the same boot of an agent or a new one, with any token.
func (m *machine) again(old *worker) *worker {
	next := m.boot(old.name, old.extra, draw(m.r, "token", m.tokens))
	if draw(m.r, "the same boot", []int{0, 1, 2}) > 0 {
		next.boot = old.boot
	}
	return next
}

// revoke rotates a token: another one like it takes its place, and each of its agents
// registers with any token there is.
func (m *machine) revoke() {
	gone := m.worker().enrolment // one that no agent has would show nothing
	i := slices.Index(m.tokens, gone)
	m.note("the token %s is revoked", gone.name)
	if err := m.people.Tokens.Revoke(context.Background(), m.owner, gone.id); err != nil {
		m.stop("%v", err)
	}
	gone.revoked = true
	m.tokens[i] = m.enrolmentToken(fmt.Sprintf("%s-%d", gone.name, m.step), gone.narrow)
	for _, old := range slices.Clone(m.agents) {
		if old.enrolment == gone {
			next := m.again(old)
			if !m.allowed(old, next) {
				m.want(m.register(next), "forbidden")
				next.enrolment = m.tokens[0]
			}
			m.note("%s registers with %s as %s", old.name, next.enrolment.name, next.boot)
			m.replace(old, next)
		}
	}
	// Whoever has nothing but the revoked token learns so, whatever it calls.
	m.former = slices.DeleteFunc(m.former, func(w *worker) bool { return w.enrolment == gone })
	m.leases = slices.DeleteFunc(m.leases, func(l lease) bool { return l.worker.enrolment == gone })
}

// replace registers an agent again, if the token may. Another boot holds nothing; the
// same one keeps what its token reaches.
func (m *machine) replace(old, next *worker) {
	if !m.allowed(old, next) {
		m.want(m.register(next), "forbidden")
		return
	}
	m.want(m.register(next), "")
	if owner := m.hosts[old.name]; owner.revoked {
		m.hosts[old.name] = next.enrolment
	}
	m.agents[slices.Index(m.agents, old)] = next
	if old.boot == next.boot && old.enrolment == next.enrolment {
		m.agents[slices.Index(m.agents, next)] = old
		old.token, old.dead = next.token, false
		return
	}
	old.replaced = true
	m.former = append(m.former, old)
	for _, c := range m.cards {
		if !c.leased() || c.holder != old {
			continue
		}
		if old.boot != next.boot || !next.enrolment.reaches(c) {
			m.giveBack(c)
			continue
		}
		c.holder = next
		m.leases = append(m.leases, lease{c, c.epoch, next})
	}
}

func (m *machine) claim() {
	w := m.worker()
	if len(m.former) > 0 && draw(m.r, "a former boot", []int{0, 1, 2, 3, 4, 5, 6, 7}) == 0 {
		w = draw(m.r, "boot", m.former)
	}
	most := rapid.IntRange(1, 2).Draw(m.r, "max")
	a := m.call(w.token, "POST", "/fleet/claim", object{"max": most, "ttl_seconds": 600})
	m.note("%s claims %d: %d %s %s", w.name, most, a.status, a.code, a.reason)
	m.reaped()
	if w.replaced {
		m.want(a, "superseded")
		return
	}
	m.want(a, "")
	queue, backlogged := m.queue(w)
	n := min(most, len(queue), seats-m.held(w))
	if n == 0 {
		reason := "no_seats"
		switch {
		case len(queue) == 0 && backlogged:
			reason = "review_backlog"
		case len(queue) == 0:
			reason = "empty"
		}
		if a.status != 204 || a.reason != reason {
			m.stop("%s: answered %v %q; expected nothing, because %q", w.name, a, a.reason, reason)
		}
		return
	}
	m.given(w, a, queue, n)
}

// given checks what a claim got: the most urgent jobs, and of those of a product that are as urgent
// the one that waits longest. Which product is next is a matter of turns.
func (m *machine) given(w *worker, a answer, queue []*card, n int) {
	var got struct {
		Jobs []job `json:"jobs"`
	}
	if a.status == 200 {
		m.decode(a, &got)
	}
	if len(got.Jobs) != n {
		m.stop("%s got %d jobs of %d; expected %d", w.name, len(got.Jobs), len(queue), n)
	}
	w.dead = false
	for i, j := range got.Jobs {
		c := m.find(j.Key)
		if !slices.Contains(queue, c) || c.priority != queue[i].priority {
			m.stop("%s got %s of priority %d; expected %s of %d", w.name, j.Key, j.Priority, queue[i].key, queue[i].priority)
		}
		if first := queue[slices.IndexFunc(queue, c.comesInTurnWith)]; n == 1 && c.since != first.since {
			m.stop("%s got %s; expected %s, which waits longer", w.name, j.Key, first.key)
		}
		if j.Question != c.question || j.Answer != c.answer || j.Feedback != c.feedback {
			m.stop("%s was given with question %q, answer %q, feedback %q", j.Key, j.Question, j.Answer, j.Feedback)
		}
	}
	for _, j := range got.Jobs {
		c := m.find(j.Key)
		c.epoch++
		c.holder = w
		m.to(c, "assigned", "")
		m.leases = append(m.leases, lease{c, c.epoch, w})
		m.note("  %s, epoch %d", c.key, c.epoch)
	}
}

// reaped notices whether a claim took lapsed leases back, as it does once a
// second where nobody else does.
func (m *machine) reaped() {
	lapsed := m.lapsed()
	if len(lapsed) == 0 {
		return
	}
	found := m.list()
	j := found[lapsed[0].key]
	if j.Lease != nil && j.Lease.Epoch == lapsed[0].epoch {
		return
	}
	m.note("  which took %d leases back", len(lapsed))
	for _, c := range lapsed {
		m.lose(c)
		m.settle()
	}
}

func (m *machine) beat() {
	w := m.worker()
	m.note("%s beats", w.name)
	a := m.call(w.token, "POST", "/agents/"+w.name+"/heartbeat", object{"boot_id": w.boot, "status": "working"})
	m.want(a, "")
	w.dead = false
	var answer struct {
		Leases []struct {
			Job       string `json:"job"`
			Directive string `json:"directive"`
		} `json:"leases"`
	}
	m.decode(a, &answer)
	said, want := []string{}, []string{}
	for _, l := range answer.Leases {
		said = append(said, l.Job+" "+l.Directive)
	}
	for _, c := range m.cards {
		if c.leased() && c.holder == w && !c.lapsed {
			directive := c.directive
			if directive == "" {
				directive = "continue"
			}
			want = append(want, c.key+" "+directive)
		}
	}
	slices.Sort(said)
	slices.Sort(want)
	if !slices.Equal(said, want) {
		m.stop("the heartbeat of %s says %v; expected %v", w.name, said, want)
	}
}

// lease draws a lease, most often one that is held.
func (m *machine) lease() (lease, bool) {
	if len(m.leases) == 0 {
		return lease{}, false
	}
	var live []lease
	for _, l := range m.leases {
		if l.refusal() == "" {
			live = append(live, l)
		}
	}
	if len(live) == 0 || draw(m.r, "an old one", []int{0, 1, 2, 3}) == 0 {
		live = m.leases
	}
	return draw(m.r, "lease", live), true
}

// send makes a call with a lease and gives the code it has to be refused with.
func (m *machine) send(l lease, verb string, more object) (a answer, refusal string) {
	body := object{"job": l.card.key, "epoch": l.epoch}
	maps.Copy(body, more)
	refusal = l.refusal()
	a = m.call(l.worker.token, "POST", "/fleet/"+verb, body)
	m.note("%s: %s %s epoch %d: %d %s", l.worker.name, verb, l.card.key, l.epoch, a.status, a.code)
	if !l.worker.replaced && l.worker.dead {
		l.worker.dead = refusal != "" && a.status != 200 && m.isSilent(l.worker)
	}
	return a, refusal
}

// isSilent reports whether a worker has given no sign of life for long: of refused calls those count
// that are written together with others.
func (m *machine) isSilent(w *worker) (silent bool) {
	err := m.conn.QueryRow(context.Background(), `SELECT last_heartbeat_at < clock_timestamp() - interval '1 hour' FROM agent
		WHERE workspace_id = $1 AND name = $2`, m.workspace, w.name).Scan(&silent)
	if err != nil {
		m.stop("%s: %v", w.name, err)
	}
	return silent
}

func (m *machine) report(verb string) func() {
	return func() {
		l, ok := m.lease()
		if !ok {
			return
		}
		a, refusal := m.send(l, verb, nil)
		if l.worker.replaced {
			refusal = "superseded"
		}
		m.want(a, refusal)
		if refusal != "" {
			return
		}
		var standing struct {
			Directive string `json:"directive"`
		}
		m.decode(a, &standing)
		if want := l.card.directive; standing.Directive != want && (want != "" || standing.Directive != "continue") {
			m.stop("%s was told %q; expected %q", verb, standing.Directive, want)
		}
		if verb != "renew" {
			m.to(l.card, "running", "")
		}
	}
}

// ends reports how a lease ends, and do what the card becomes. The same words get the
// same answer again, also once somebody else has the job.
func (m *machine) ends(verb string, words object, do func(*card)) {
	l, ok := m.lease()
	if !ok {
		return
	}
	a, refusal := m.send(l, verb, words)
	said := fmt.Sprint(verb, words)
	if l.card.said[l.epoch] == said {
		m.want(a, "")
		return
	}
	m.want(a, refusal)
	if refusal == "" {
		l.card.said[l.epoch] = said
		do(l.card)
	}
}

func (m *machine) handIn() { m.ends("complete", object{"summary": "done"}, m.complete) }

func (m *machine) failed() {
	retryable := rapid.Bool().Draw(m.r, "retryable")
	m.ends("fail", object{"error": "it broke", "retryable": retryable}, func(c *card) { m.fail(c, retryable) })
}

func (m *machine) release() { m.ends("release", object{"reason": "tired"}, m.giveBack) }

func (m *machine) ask() {
	question := draw(m.r, "question", []string{"which one?", "where?"})
	m.ends("ask", object{"question": question}, func(c *card) {
		if m.carryOut(c) {
			return
		}
		m.end(c, "asked")
		c.question, c.answer = question, ""
		m.to(c, "blocked", "")
	})
}

func (m *machine) link() {
	c, d := m.any("waiting", "ready"), draw(m.r, "dependency", m.cards)
	m.note("link %s (%s) to %s (%s)", c.key, c.status, d.key, d.status)
	a := m.call(m.person, "POST", "/jobs/"+c.key+"/dependencies", object{"depends_on": d.key})
	switch {
	case c == d:
		m.want(a, "validation_failed")
	case c.finished():
		if a.code != "dependency_cycle" || !d.reaches(c) {
			m.want(a, "invalid_transition")
		}
	case d.reaches(c):
		m.want(a, "dependency_cycle")
	default:
		m.want(a, "")
		if slices.Contains(c.deps, d) {
			return
		}
		c.deps = append(c.deps, d)
		if !d.satisfied() && c.is("ready", "waiting") {
			m.to(c, "waiting", "dependency")
		}
	}
}

func (m *machine) unlink() {
	c := m.any("waiting")
	if len(c.deps) == 0 {
		return
	}
	d := draw(m.r, "dependency", c.deps)
	m.note("unlink %s (%s) from %s (%s)", c.key, c.status, d.key, d.status)
	m.want(m.call(m.person, "DELETE", "/jobs/"+c.key+"/dependencies/"+d.key, nil), "")
	c.deps = slices.DeleteFunc(c.deps, func(x *card) bool { return x == d })
	if c.status == "waiting" && c.wait == "dependency" && !c.open() {
		m.claimable(c)
	}
}

func (m *machine) leaseEnds() {
	c := m.any("assigned", "running")
	if !c.leased() {
		return
	}
	m.note("the lease of %s ends", c.key)
	m.sql(`UPDATE job_lease l SET expires_at = clock_timestamp() - interval '1 second' FROM job j
		WHERE j.workspace_id = $1 AND j.key = $2 AND l.workspace_id = j.workspace_id AND l.job_id = j.id`, m.workspace, c.key)
	c.lapsed = true
}

func (m *machine) graceEnds() {
	c := m.any("assigned", "running")
	if c.directive == "" {
		return
	}
	m.note("the grace of %s ends", c.key)
	m.sql(`UPDATE job_lease l SET grace_ends_at = clock_timestamp() - interval '1 second' FROM job j
		WHERE j.workspace_id = $1 AND j.key = $2 AND l.workspace_id = j.workspace_id AND l.job_id = j.id`, m.workspace, c.key)
	c.graceOver = true
}

func (m *machine) agentDies() {
	w := m.worker()
	m.note("%s dies", w.name)
	m.sql(`UPDATE agent SET last_heartbeat_at = clock_timestamp() - interval '1 day' WHERE workspace_id = $1 AND name = $2`, m.workspace, w.name)
	w.dead = true
}

func (m *machine) timePasses() {
	m.note("time passes")
	// The log gets it too: it is what the jobs are compared with in the end.
	m.sql(`WITH moved AS (
			UPDATE job SET not_before = clock_timestamp() - interval '1 second' WHERE workspace_id = $1 AND not_before IS NOT NULL
			RETURNING workspace_id, id, not_before)
		INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, changes)
		SELECT workspace_id, 'job.edited', id, 'time', 'system',
			jsonb_build_array(jsonb_build_object('field', 'not_before', 'old', NULL, 'new', not_before)) FROM moved`, m.workspace)
	for _, c := range m.cards {
		c.timed = false
	}
}

func (m *machine) coordinate() {
	a := m.call(m.person, "POST", "/coordinator/recover", nil)
	m.note("the coordinator works: %s", json.RawMessage(a.raw))
	m.want(a, "")
	m.cycle()
}
