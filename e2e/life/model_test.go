package life

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Limits of the jobs that sequences make: small, so that they are reached.
const (
	maxRetries = 1
	maxLost    = 1
	seats      = 2
)

// card is a job as the table in docs/concepts.md has it. The model is written from the
// table, not from the code: where they differ one of them is wrong.
type card struct {
	key         string
	status      string
	wait        string
	priority    int
	needsExtra  bool
	reviewed    bool
	repo        bool // it works on the one repo there is
	vega        bool // its product is not the default one, and has no limits
	timed       bool // its not_before lies in the future
	epoch       int64
	failures    int
	losses      int
	question    string
	answer      string
	feedback    string
	deps        []*card
	since       int // the step in which it became what it is
	wasFinished bool

	holder    *worker
	lapsed    bool // the lease's time is over
	graceOver bool
	directive string
	outcomes  map[int64]string // of ended leases, by epoch
	said      map[int64]string // by which words of its agent a lease ended
}

// comesInTurnWith reports whether of two ready jobs the one that waits longer is given first.
func (c *card) comesInTurnWith(other *card) bool {
	return c.priority == other.priority && c.vega == other.vega
}

// worker is one boot of an agent.
type worker struct {
	name, token, boot string
	enrolment         *enrolment
	extra             bool // it offers what some jobs need
	dead              bool // no sign of life for long
	replaced          bool // a newer boot took its name
}

// enrolment is a token that agents register with.
type enrolment struct {
	name, token string
	id          ids.ID
	narrow      bool // it reaches the default product only
	revoked     bool
}

func (e *enrolment) reaches(c *card) bool { return !e.narrow || !c.vega }

// takes reports whether it may take what belongs to another token.
func (e *enrolment) takes(owner *enrolment) bool {
	return owner == nil || owner.revoked || owner == e || !e.narrow || owner.narrow
}

type lease struct {
	card   *card
	epoch  int64
	worker *worker
}

func (c *card) leased() bool { return c.status == "assigned" || c.status == "running" }
func (c *card) finished() bool {
	return slices.Contains([]string{"completed", "failed", "aborted", "archived"}, c.status)
}
func (c *card) is(statuses ...string) bool {
	return slices.Contains(statuses, c.status)
}

// satisfied reports whether dependents may go on.
func (c *card) satisfied() bool {
	return c.status == "completed" || c.status == "archived" && c.wasFinished
}

func (c *card) open() bool {
	return slices.ContainsFunc(c.deps, func(d *card) bool { return !d.satisfied() })
}

// reaches reports whether c waits for other, directly or by way of others.
func (c *card) reaches(other *card) bool {
	return c == other || slices.ContainsFunc(c.deps, func(d *card) bool { return d.reaches(other) })
}

// model is all jobs of a workspace.
type model struct {
	cards []*card
	step  int
	hosts map[string]*enrolment // the token that the factory of an agent belongs to

	oneJobPerRepo bool
	reviewLimit   int   // 0 is none
	slot          *card // the one of the repo that may be ready or worked on
	// What the present step has freed.
	freedRepo, freedReview bool
}

func (m *model) find(key string) *card {
	at := slices.IndexFunc(m.cards, func(c *card) bool { return c.key == key })
	if at < 0 {
		return nil
	}
	return m.cards[at]
}

// to moves a card, and notes what others may have for it.
func (m *model) to(c *card, status, wait string) {
	if status != c.status {
		c.since = m.step
	}
	m.freedReview = m.freedReview || !c.vega && c.status == "in_review" && status != "in_review"
	c.status, c.wait = status, wait
	if m.slot == c && !c.is("ready", "assigned", "running") {
		m.slot, m.freedRepo = nil, true
	}
}

// claimable makes a card ready, or waiting where something still holds it.
func (m *model) claimable(c *card) {
	switch {
	case c.open():
		m.to(c, "waiting", "dependency")
	case c.timed:
		m.to(c, "waiting", "not_before")
	case !c.vega && m.backlogged() && !c.is("ready", "in_review"):
		m.to(c, "waiting", "review_backlog")
	case !m.takeSlot(c):
		m.to(c, "waiting", "repo_busy")
	default:
		m.to(c, "ready", "")
	}
}

// backlogged reports whether the default product's review queue is full.
func (m *model) backlogged() bool {
	n := 0
	for _, c := range m.cards {
		if c.is("in_review") && !c.vega {
			n++
		}
	}
	return m.reviewLimit > 0 && n >= m.reviewLimit
}

// takeSlot lets a card have the repo, where a more urgent one does not have it,
// or nobody works on it yet.
func (m *model) takeSlot(c *card) bool {
	if !m.oneJobPerRepo || !c.repo || m.slot == c {
		return true
	}
	if m.slot != nil {
		if !m.slot.is("ready") || m.slot.priority >= c.priority {
			return false
		}
		freed := m.freedRepo
		m.to(m.slot, "waiting", "repo_busy")
		m.freedRepo = freed
	}
	m.slot = c
	return true
}

// settle gives what a step has freed to the most urgent card that waits for it.
func (m *model) settle() {
	for _, free := range []struct {
		is   bool
		wait string
	}{{m.freedReview, "review_backlog"}, {m.freedRepo, "repo_busy"}} {
		if next := m.waitingFor(free.wait); free.is && len(next) > 0 {
			m.claimable(next[0])
		}
	}
	m.freedRepo, m.freedReview = false, false
}

// waitingFor returns the cards with one of the reasons, the most urgent first, then the oldest.
func (m *model) waitingFor(reasons ...string) []*card {
	var list []*card
	for _, c := range m.cards {
		if c.status == "waiting" && slices.Contains(reasons, c.wait) {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, urgency)
	return list
}

func urgency(a, b *card) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.since, b.since))
}

// end takes the lease away and remembers how it ended.
func (m *model) end(c *card, outcome string) {
	c.outcomes[c.epoch] = outcome
	c.holder, c.lapsed, c.graceOver, c.directive = nil, false, false, ""
}

// carryOut does what a directive says; false where there is none.
func (m *model) carryOut(c *card) bool {
	switch c.directive {
	case "cancel":
		m.end(c, "cancelled")
		m.to(c, "aborted", "")
	case "pause":
		m.end(c, "paused")
		m.to(c, "paused", "")
	default:
		return false
	}
	return true
}

func (m *model) giveBack(c *card) {
	if m.carryOut(c) {
		return
	}
	m.end(c, "released")
	m.claimable(c)
}

func (m *model) lose(c *card) {
	if m.carryOut(c) {
		return
	}
	m.end(c, "lost")
	if c.losses++; c.losses > maxLost {
		m.to(c, "failed", "")
		return
	}
	m.claimable(c)
}

func (m *model) fail(c *card, retryable bool) {
	if m.carryOut(c) {
		return
	}
	m.end(c, "failed")
	c.failures++
	if !retryable || c.failures > maxRetries {
		m.to(c, "failed", "")
		return
	}
	c.timed = true
	m.to(c, "waiting", "retry_backoff")
}

func (m *model) complete(c *card) {
	m.end(c, "completed")
	if c.reviewed {
		m.to(c, "in_review", "")
		return
	}
	m.finish(c)
}

// finish completes a card and lets its dependents go. What was said on the way
// is for the next attempt, and there is none.
func (m *model) finish(c *card) {
	c.question, c.answer, c.feedback = "", "", ""
	m.to(c, "completed", "")
	for _, d := range m.cards {
		if d.status == "waiting" && d.wait == "dependency" && slices.Contains(d.deps, c) {
			m.claimable(d)
		}
	}
}

// lapsed returns the cards whose lease is to be taken back.
func (m *model) lapsed() []*card {
	var list []*card
	for _, c := range m.cards {
		if c.leased() && (c.lapsed || c.graceOver || c.holder.dead) {
			list = append(list, c)
		}
	}
	return list
}

// cycle is one round of the coordinator.
func (m *model) cycle() {
	for _, c := range m.lapsed() {
		m.lose(c)
	}
	for _, c := range m.cards {
		due := c.status == "waiting" && (c.wait == "not_before" || c.wait == "retry_backoff") && !c.timed
		if due || c.status == "waiting" && c.wait == "dependency" && !c.open() {
			m.claimable(c)
		}
	}
	for _, c := range m.waitingFor("review_backlog", "repo_busy") {
		repo := m.slot == nil || m.slot.is("ready") && m.slot.priority < c.priority
		if c.wait == "review_backlog" && !m.backlogged() || c.wait == "repo_busy" && repo {
			m.claimable(c)
		}
	}
}

// held counts a worker's leases, those included that lapsed and were not taken back.
func (m *model) held(w *worker) int {
	n := 0
	for _, c := range m.cards {
		if c.leased() && c.holder.name == w.name {
			n++
		}
	}
	return n
}

// queue returns what a worker could be given, the most urgent first, then the oldest, and
// whether the full review queue keeps a card from it.
func (m *model) queue(w *worker) (list []*card, backlogged bool) {
	full := m.backlogged()
	for _, c := range m.cards {
		held := c.status == "waiting" && c.wait == "review_backlog"
		if !held && c.status != "ready" || c.needsExtra && !w.extra || !w.enrolment.reaches(c) {
			continue
		}
		if full && !c.vega {
			backlogged = true
		} else if !held {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, urgency)
	return list, backlogged
}

// refusal returns the code that a write with a lease gets, "" where it is accepted.
func (l lease) refusal() string {
	c := l.card
	switch {
	case l.epoch == c.epoch && c.holder == l.worker && !c.lapsed:
		return ""
	case l.epoch == c.epoch && c.leased() && c.holder.name == l.worker.name && !c.lapsed:
		return "superseded" // the same boot has another token by now
	case l.epoch == c.epoch && c.outcomes[l.epoch] == "cancelled":
		return "cancelled"
	case l.epoch == c.epoch && c.outcomes[l.epoch] == "paused":
		return "paused"
	case c.said[l.epoch] != "":
		return "already_ended"
	case l.epoch < c.epoch:
		return "stale_epoch"
	}
	return "lease_expired"
}

// deed is what a person's verb does to a card of certain statuses.
type deed struct {
	from []string
	do   func(m *model, c *card, word string)
}

// deeds are the rows of the table in docs/concepts.md that people bring about.
var deeds = map[string][]deed{
	"pause":        {{leasedOnes, direct("pause")}, {[]string{"waiting", "ready"}, moved("paused")}},
	"cancel":       {{leasedOnes, direct("cancel")}, {[]string{"waiting", "ready", "paused", "blocked", "in_review", "approved"}, moved("aborted")}},
	"block":        {{[]string{"waiting", "ready", "paused"}, moved("blocked")}},
	"approve":      {{[]string{"in_review"}, moved("approved")}},
	"merge":        {{[]string{"approved"}, func(m *model, c *card, _ string) { m.finish(c) }}},
	"merge-failed": {{[]string{"approved"}, moved("in_review")}},
	"resume": {
		// A pause that the agent has not acknowledged is withdrawn.
		{leasedOnes, func(_ *model, c *card, _ string) { c.directive, c.graceOver = "", false }},
		{[]string{"paused"}, func(m *model, c *card, _ string) { m.claimable(c) }},
	},
	"unblock": {{[]string{"blocked"}, func(m *model, c *card, _ string) {
		if c.answer == "" {
			c.question = ""
		}
		m.claimable(c)
	}}},
	"answer": {{[]string{"blocked"}, func(m *model, c *card, word string) {
		c.answer = word
		m.claimable(c)
	}}},
	"reject": {{[]string{"in_review"}, func(m *model, c *card, word string) {
		c.feedback = word
		m.claimable(c)
	}}},
	"retry": {{[]string{"failed", "aborted", "completed"}, func(m *model, c *card, _ string) {
		c.failures, c.losses, c.timed = 0, 0, false
		m.claimable(c)
	}}},
	"archive": {{[]string{"completed", "failed", "aborted"}, func(m *model, c *card, _ string) {
		c.wasFinished = c.status == "completed"
		m.to(c, "archived", "")
	}}},
	"release": {{leasedOnes, func(m *model, c *card, _ string) {
		m.end(c, "released")
		m.claimable(c)
	}}},
}

var leasedOnes = []string{"assigned", "running"}

func moved(status string) func(*model, *card, string) {
	return func(m *model, c *card, _ string) { m.to(c, status, "") }
}

// direct directs the holder to stop. A cancel replaces a pause, and its grace.
func direct(directive string) func(*model, *card, string) {
	return func(_ *model, c *card, _ string) {
		if c.directive != directive {
			c.directive, c.graceOver = directive, false
		}
	}
}

// act is a person's verb: it changes the card, or returns false where the table
// has no such row.
func (m *model) act(c *card, verb, word string) bool {
	if verb == "answer" && (c.question == "" || c.answer != "") {
		return false
	}
	if verb == "resume" && c.leased() && c.directive != "pause" || verb == "pause" && c.leased() && c.directive == "cancel" {
		return false
	}
	for _, d := range deeds[verb] {
		if c.is(d.from...) {
			d.do(m, c, word)
			return true
		}
	}
	return false
}

// differs says how a job that the API shows is not the card, "" where it is.
func (c *card) differs(j job) string {
	said := fmt.Sprintf("%s/%s f%d l%d a%d q%q a%q b%q", j.Status, j.WaitReason, j.Failures, j.Losses, j.Attempts, j.Question, j.Answer, j.Feedback)
	want := fmt.Sprintf("%s/%s f%d l%d a%d q%q a%q b%q", c.status, c.wait, c.failures, c.losses, c.epoch, c.question, c.answer, c.feedback)
	if said != want {
		return said + ", and the model says " + want
	}
	switch {
	case (j.Lease != nil) != c.leased():
		return "a lease and a status that do not belong together: " + said
	case j.Lease != nil && (j.Lease.Epoch != c.epoch || j.Lease.Agent != c.holder.name || j.Lease.Directive != c.directive):
		return fmt.Sprintf("the lease %+v, and the model says epoch %d of %s, %q", *j.Lease, c.epoch, c.holder.name, c.directive)
	}
	return ""
}
