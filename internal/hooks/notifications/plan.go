package notifications

import (
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// maxOpen bounds of how many open decisions a person is told: more wait until some are closed.
const maxOpen = 500

// closedStamp is the stamp of a message that says what became of a decision.
const closedStamp = "closed"

// told is of what a member is told, or was.
type told struct {
	Account    ids.ID     `json:"account_id"`
	Decision   string     `json:"decision"`
	Kind       Kind       `json:"kind"`
	Job        *ids.ID    `json:"job_id"`
	Stamp      string     `json:"stamp"`
	Title      string     `json:"title"`
	Detail     string     `json:"detail"`
	Path       string     `json:"path"`
	OpenedAt   time.Time  `json:"opened_at"`
	ClosedAt   *time.Time `json:"closed_at"`
	Outcome    string     `json:"outcome"`
	EscalateAt *time.Time `json:"escalate_at"`
	From       *ids.ID    `json:"escalated_from"`
}

// message is the one message of a decision on a channel.
type message struct {
	Account  ids.ID     `json:"account_id"`
	Decision string     `json:"decision"`
	Channel  Channel    `json:"channel"`
	DueAt    *time.Time `json:"due_at"`
	sent     *string    // what was sent last
}

// state is what is known of a workspace.
type state struct {
	people   []person
	open     []decision
	outcomes map[ids.ID]outcome // by job
	told     []told
	messages []message
}

// changes are what is to be written.
type changes struct {
	save    []told
	drop    []told // who may not decide any more is told nothing more
	deliver []message
}

func (c changes) none() bool { return len(c.save)+len(c.drop)+len(c.deliver) == 0 }

type rowKey struct {
	account  ids.ID
	decision string
}

// planner compares what is open with what was told.
type planner struct {
	now      time.Time
	outcomes map[ids.ID]outcome
	people   map[ids.ID]person
	open     map[string]decision
	told     map[rowKey]*told
	messages map[rowKey][]message
	count    map[ids.ID]int // of open decisions that a person is told of
	saved    map[rowKey]bool
	out      changes
}

// plan returns what follows from a state now. It does no more for ten thousand changes than for one.
func plan(now time.Time, s state) changes {
	p := &planner{now: now, outcomes: s.outcomes, people: map[ids.ID]person{}, open: map[string]decision{}, told: map[rowKey]*told{},
		messages: map[rowKey][]message{}, count: map[ids.ID]int{}, saved: map[rowKey]bool{}}
	for _, one := range s.people {
		p.people[one.account] = one
	}
	for _, d := range s.open {
		p.open[d.id] = d
	}
	for i := range s.told {
		t := &s.told[i]
		p.told[rowKey{t.Account, t.Decision}] = t
		if t.ClosedAt == nil {
			p.count[t.Account]++
		}
	}
	for _, m := range s.messages {
		k := rowKey{m.Account, m.Decision}
		p.messages[k] = append(p.messages[k], m)
	}
	for i := range s.told {
		p.follow(&s.told[i])
	}
	for _, one := range s.people {
		for _, d := range s.open {
			if slices.Contains(one.kinds, d.kind) {
				p.begin(one, d, nil)
			}
		}
	}
	for k := range p.saved {
		p.out.save = append(p.out.save, *p.told[k])
	}
	return p.out
}

// save has a row written, once.
func (p *planner) save(t *told) { p.saved[rowKey{t.Account, t.Decision}] = true }

// may reports whether a person decides on a kind, and can be told of it.
func (p person) may(kind Kind) bool {
	return !p.disabled && len(p.channels) > 0 && Decides(p.role, kind)
}

// follow closes, moves or hands on what a member was told of.
func (p *planner) follow(t *told) {
	if t.ClosedAt != nil {
		return
	}
	one, member := p.people[t.Account]
	if !member || !one.may(t.Kind) || t.From == nil && !slices.Contains(one.kinds, t.Kind) {
		p.out.drop = append(p.out.drop, *t)
		p.count[t.Account]--
		return
	}
	d, open := p.open[t.Decision]
	switch {
	case !open:
		p.close(one, t)
		return
	case d.stamp != t.Stamp:
		p.write(one, t, d, t.From)
	}
	p.escalate(one, t, d)
}

// close says what became of a decision to those who were told of it by another hand; a message that
// was not sent yet is dropped.
func (p *planner) close(one person, t *told) {
	p.count[t.Account]--
	t.ClosedAt, t.EscalateAt = &p.now, nil
	became := outcome{text: "It is decided: " + t.Title}
	if t.Job != nil {
		if s, known := p.outcomes[*t.Job]; known {
			became = s
		}
	}
	t.Outcome = oneLine(became.text, maxOutcome)
	p.save(t)
	for _, m := range p.messages[rowKey{t.Account, t.Decision}] {
		before := m.DueAt
		m.DueAt = nil
		if m.sent != nil && *m.sent != closedStamp && (m.Channel != Email || became.by != t.Account.String()) {
			due := one.due(p.now)
			m.DueAt = &due
		}
		if before != nil || m.DueAt != nil {
			p.out.deliver = append(p.out.deliver, m)
		}
	}
}

// begin has a person told of a decision, unless he is already.
func (p *planner) begin(one person, d decision, from *ids.ID) {
	t := p.told[rowKey{one.account, d.id}]
	if !one.may(d.kind) || t != nil && t.ClosedAt == nil || p.count[one.account] >= maxOpen {
		return
	}
	if t == nil {
		t = &told{Account: one.account, Decision: d.id, Kind: d.kind, Job: d.job}
		p.told[rowKey{one.account, d.id}] = t
	}
	p.count[one.account]++
	p.write(one, t, d, from)
}

// write notes what a decision is about from now on, and has it sent on all channels of the person.
func (p *planner) write(one person, t *told, d decision, from *ids.ID) {
	t.Stamp, t.Title, t.Detail, t.Path, t.From = d.stamp, d.title, d.detail, d.path, from
	t.OpenedAt, t.ClosedAt, t.Outcome, t.EscalateAt = p.now, nil, "", nil
	if one.next != nil && one.escalate > 0 {
		at := p.now.Add(one.escalate)
		t.EscalateAt = &at
	}
	p.save(t)
	due := one.due(p.now)
	for _, c := range one.channels {
		p.out.deliver = append(p.out.deliver, message{Account: one.account, Decision: d.id, Channel: c, DueAt: &due})
	}
}

// escalate tells the next person of what is still open after the time of this one. Whoever is told
// already is not told again, so that a circle ends.
func (p *planner) escalate(one person, t *told, d decision) {
	if t.EscalateAt == nil || t.EscalateAt.After(p.now) {
		return
	}
	t.EscalateAt = nil
	p.save(t)
	if one.next == nil {
		return
	}
	if next, member := p.people[*one.next]; member {
		p.begin(next, d, &one.account)
	}
}
