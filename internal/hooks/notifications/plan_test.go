package notifications

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// world applies plans to a state, as the database does.
type world struct {
	t   *testing.T
	now time.Time
	state
}

func newWorld(t *testing.T, people ...person) *world {
	return &world{t: t, now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), state: state{people: people, outcomes: map[ids.ID]outcome{}}}
}

func somebody(name string, change ...func(*person)) person {
	p := person{account: ids.New(), name: name, role: tenancy.RoleOwner, channels: []Channel{Email}, kinds: Kinds}
	for _, c := range change {
		c(&p)
	}
	return p
}

// look plans and applies, and returns whom messages were made due for: "Ada email review:1 12:00".
func (w *world) look() (due []string) {
	w.t.Helper()
	out := plan(w.now, w.state)
	for _, t := range out.drop {
		w.told = slices.DeleteFunc(w.told, func(o told) bool { return o.Account == t.Account && o.Decision == t.Decision })
		w.messages = slices.DeleteFunc(w.messages, func(o message) bool { return o.Account == t.Account && o.Decision == t.Decision })
	}
	for _, t := range out.save {
		i := slices.IndexFunc(w.told, func(o told) bool { return o.Account == t.Account && o.Decision == t.Decision })
		if i < 0 {
			w.told = append(w.told, t)
		} else {
			w.told[i] = t
		}
	}
	for _, m := range out.deliver {
		i := slices.IndexFunc(w.messages, func(o message) bool {
			return o.Account == m.Account && o.Decision == m.Decision && o.Channel == m.Channel
		})
		if i < 0 {
			w.messages = append(w.messages, m)
		} else {
			w.messages[i].DueAt = m.DueAt
		}
		if m.DueAt != nil {
			due = append(due, fmt.Sprintf("%s %s %s %s", w.name(m.Account), m.Channel, m.Decision, m.DueAt.UTC().Format("15:04")))
		}
	}
	slices.Sort(due)
	return due
}

func (w *world) name(id ids.ID) string {
	for _, p := range w.people {
		if p.account == id {
			return p.name
		}
	}
	return "?"
}

// sendAll marks what is due as sent, and returns how many messages that were.
func (w *world) sendAll() (n int) {
	for i, m := range w.messages {
		if m.DueAt == nil || m.DueAt.After(w.now) {
			continue
		}
		n++
		stamp := closedStamp
		for _, t := range w.told {
			if t.Account == m.Account && t.Decision == m.Decision && t.ClosedAt == nil {
				stamp = t.Stamp
			}
		}
		w.messages[i].DueAt, w.messages[i].sent = nil, &stamp
	}
	return n
}

func (w *world) want(got []string, want ...string) {
	w.t.Helper()
	if !slices.Equal(got, want) {
		w.t.Errorf("due is %q, want %q", got, want)
	}
}

func review(id, stamp string) decision {
	return decision{id: id, kind: Review, stamp: stamp, title: "Review " + id}
}

// Each open decision is told once, however often it is looked at, and again where it is another thing.
func TestADecisionIsToldOnce(t *testing.T) {
	w := newWorld(t, somebody("Ada"))
	w.open = []decision{review("review:1", "e1")}
	w.want(w.look(), "Ada email review:1 12:00")
	w.want(w.look())
	w.sendAll()
	for range 100 {
		w.now = w.now.Add(time.Second)
		w.want(w.look())
	}
	w.open = []decision{review("review:1", "e2")}
	w.want(w.look(), "Ada email review:1 12:01")
}

// What is decided before it was told is not told; what was told is updated for others than who decided.
func TestWhatIsSettledIsDroppedOrUpdated(t *testing.T) {
	job := ids.New()
	ada, bob := somebody("Ada"), somebody("Bob", func(p *person) { p.digest = time.Hour })
	w := newWorld(t, ada, bob)
	d := review("review:1", "e1")
	d.job = &job
	w.open = []decision{d}
	w.now = w.now.Add(time.Minute)
	w.want(w.look(), "Ada email review:1 12:01", "Bob email review:1 13:00")
	if n := w.sendAll(); n != 1 {
		t.Fatalf("%d messages were sent", n)
	}
	w.open, w.outcomes[job] = nil, outcome{"FB-1 is approved now, by Bob", bob.account.String()}
	w.want(w.look(), "Ada email review:1 12:01")
	if w.told[0].Outcome != "FB-1 is approved now, by Bob" {
		t.Errorf("it says %q", w.told[0].Outcome)
	}
	w.sendAll()
	w.now = w.now.Add(2 * time.Hour)
	w.want(w.look())
	if n := w.sendAll(); n != 0 {
		t.Errorf("%d messages tell of what was decided long ago", n)
	}
	// Who decides himself gets no mail about it.
	w.open = []decision{d}
	w.look()
	w.sendAll()
	w.open, w.outcomes[job] = nil, outcome{"FB-1 is approved now, by Ada", ada.account.String()}
	for _, line := range w.look() {
		if line[:3] == "Ada" {
			t.Errorf("Ada is told what she did: %s", line)
		}
	}
}

// Only who may decide is told, and nobody any more who may not.
func TestOnlyWhoDecidesIsTold(t *testing.T) {
	viewer := somebody("Vi", func(p *person) { p.role = tenancy.RoleViewer })
	member := somebody("Mo", func(p *person) { p.role = tenancy.RoleMember })
	off := somebody("Dis", func(p *person) { p.disabled = true })
	w := newWorld(t, viewer, member, off)
	w.open = []decision{review("review:1", "e1"), {id: "budget:1", kind: Budget, stamp: "p"}, {id: "agent_dead:1", kind: AgentDead, stamp: "b"},
		{id: "stopped:1", kind: Stopped, stamp: "s"}}
	w.want(w.look(), "Mo email review:1 12:00")
	w.people[1].role = tenancy.RoleViewer
	w.want(w.look())
	if len(w.told)+len(w.messages) != 0 {
		t.Errorf("what is left: %v %v", w.told, w.messages)
	}
}

// What stays open is handed on, in chains, and never in a circle.
func TestEscalationGoesAlongAChain(t *testing.T) {
	ada, bob, cy := somebody("Ada"), somebody("Bob", func(p *person) { p.kinds = nil }), somebody("Cy", func(p *person) { p.kinds = nil })
	ada.escalate, ada.next = 10*time.Minute, &bob.account
	bob.escalate, bob.next = 5*time.Minute, &cy.account
	cy.escalate, cy.next = 5*time.Minute, &ada.account
	w := newWorld(t, ada, bob, cy)
	w.open = []decision{review("review:1", "e1")}
	w.want(w.look(), "Ada email review:1 12:00")
	at := func(minute int, want ...string) {
		t.Helper()
		w.now = time.Date(2026, 3, 2, 12, minute, 0, 0, time.UTC)
		w.want(w.look(), want...)
		w.sendAll()
	}
	at(9)
	at(10, "Bob email review:1 12:10")
	at(14)
	at(15, "Cy email review:1 12:15")
	at(20)
	at(59)
	// Decided, all three hear of it; another attempt begins with the first again.
	w.open = nil
	w.want(w.look(), "Ada email review:1 12:59", "Bob email review:1 12:59", "Cy email review:1 12:59")
	w.open = []decision{review("review:1", "e2")}
	w.want(w.look(), "Ada email review:1 12:59")
}

// Decided in time, nothing is handed on; nor to somebody who may not decide, or has no channel.
func TestEscalationEnds(t *testing.T) {
	bob := somebody("Bob", func(p *person) { p.kinds, p.role = nil, tenancy.RoleViewer })
	ada := somebody("Ada", func(p *person) { p.escalate, p.next = time.Minute, &bob.account })
	w := newWorld(t, ada, bob)
	w.open = []decision{review("review:1", "e1")}
	w.look()
	w.now = w.now.Add(time.Hour)
	w.want(w.look())
	w.people[1].role = tenancy.RoleOwner
	w.want(w.look()) // its time is over
	w.open = []decision{review("review:2", "e1")}
	w.look()
	w.open = nil
	w.now = w.now.Add(time.Hour)
	for _, line := range w.look() {
		if line[:3] == "Bob" {
			t.Errorf("Bob is told: %s", line)
		}
	}
}

// A person is told of a bounded number at a time, whatever happens.
func TestHowManyArePendingIsBounded(t *testing.T) {
	w := newWorld(t, somebody("Ada"))
	for i := range 3 * maxOpen {
		w.open = append(w.open, review(fmt.Sprint("review:", i), "e"))
	}
	if n := len(w.look()); n != maxOpen {
		t.Errorf("%d are told at once", n)
	}
}
