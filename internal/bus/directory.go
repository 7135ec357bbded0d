package bus

import (
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// directory is what addressing messages needs: agents, factories, people, jobs and threads by
// their names.
type directory struct {
	readers        map[ids.ID]readerRow // the agents that send
	known          map[ids.ID]knownMessage
	agents         map[string]agentRow
	liveAgents     []agentRow
	factories      map[string]ids.ID
	people         map[string]personRow
	jobs           map[string]jobRow
	answered       map[ids.ID]Message
	threadProducts map[string]ids.ID // products of threads, by their first messages
	reach          map[string]reach  // of agents, by their inboxes
}

type agentRow struct {
	id   ids.ID
	name string
}

type personRow struct {
	id   ids.ID
	name string
}

type jobRow struct {
	id, productID ids.ID
	key           string
}

// knownMessage is a message that was sent before.
type knownMessage struct {
	Message

	digest string
}

// lookups are the entries of a directory that some messages need.
type lookups struct {
	agents, factories, emails, jobKeys, threads []string
	senders, people, jobs, replies              []ids.ID
	named                                       []ids.ID
	everybody                                   bool
}

// add adds the entries that a call needs.
func (w *lookups) add(call sending) {
	if call.who.Kind == tenancy.KindAgent && !slices.Contains(w.senders, call.who.Agent) {
		w.senders = append(w.senders, call.who.Agent)
	}
	w.named = append(w.named, call.named...)
	for _, n := range call.list {
		switch n.To.Kind {
		case ToAgent:
			w.agents = append(w.agents, n.To.Name)
		case ToFactory:
			w.factories = append(w.factories, n.To.Name)
		case ToPerson:
			if id, ok := ids.Parse(n.To.Name); ok {
				w.people = append(w.people, id)
			} else {
				w.emails = append(w.emails, strings.ToLower(n.To.Name))
			}
		case ToAll:
			w.everybody = true
		}
		w.addJob(n.Job)
		if n.CorrelationID != "" && (n.Job == "" || call.who.Kind == tenancy.KindAgent) {
			w.addJob(n.CorrelationID)
			w.threads = append(w.threads, n.CorrelationID)
		}
		if n.InReplyTo != ids.Nil {
			w.replies = append(w.replies, n.InReplyTo)
		}
	}
}

// addJob adds a job by its key or id, or a thread that may have the name of a job.
func (w *lookups) addJob(name string) {
	if id, ok := ids.Parse(name); ok {
		w.jobs = append(w.jobs, id)
	} else if name != "" {
		w.jobKeys = append(w.jobKeys, name)
	}
}

// readDirectory reads, in one round trip, what the messages of the calls need to be addressed.
func (p *publishing) readDirectory() (directory, secrets.Held, error) {
	d := directory{
		agents:         map[string]agentRow{},
		factories:      map[string]ids.ID{},
		people:         map[string]personRow{},
		jobs:           map[string]jobRow{},
		answered:       map[ids.ID]Message{},
		threadProducts: map[string]ids.ID{},
		reach:          map[string]reach{},
	}
	var w lookups
	for _, c := range p.calls {
		w.add(c.Req)
	}
	var held secrets.Held
	var steps []func(db.Tx) error
	add := func(needed bool, step func(db.Tx) error) {
		if needed {
			steps = append(steps, step)
		}
	}
	add(len(w.senders) > 0, func(tx db.Tx) (err error) {
		held, err = p.s.secrets.HeldTx(p.ctx, tx, p.workspace, secrets.Holders{Agents: w.senders})
		return err
	})
	add(len(w.senders) > 0, func(tx db.Tx) (err error) {
		d.readers, err = readersTx(p.ctx, tx, p.workspace, w.senders)
		return err
	})
	add(len(w.named) > 0, func(tx db.Tx) (err error) {
		d.known, err = knownTx(p.ctx, tx, p.workspace, w.named)
		return err
	})
	add(len(w.agents) > 0 || w.everybody, func(tx db.Tx) error { return d.readAgents(p.ctx, tx, p.workspace, w) })
	add(len(w.factories) > 0, func(tx db.Tx) error { return d.readFactories(p.ctx, tx, p.workspace, w) })
	add(len(w.emails)+len(w.people) > 0, func(tx db.Tx) error { return d.readPeople(p.ctx, tx, p.workspace, w) })
	add(len(w.jobs)+len(w.jobKeys) > 0, func(tx db.Tx) error { return d.readJobs(p.ctx, tx, p.workspace, w) })
	add(len(w.replies) > 0, func(tx db.Tx) error { return d.readAnswered(p.ctx, tx, p.workspace, w) })
	add(len(w.threads) > 0, func(tx db.Tx) error { return d.readThreads(p.ctx, tx, p.workspace, w) })
	if len(steps) == 0 {
		return d, nil, nil
	}
	return d, held, p.tx.Pipeline(p.ctx, steps...)
}

// resolve finds the addressee that an address names, and the inboxes that its messages go to.
func (d *directory) resolve(to Address) (Address, []string, error) {
	switch to.Kind {
	case ToAgent:
		a, ok := d.agents[to.Name]
		if !ok {
			return to, nil, fault.Invalid("to.agent", "There is no agent %s in this workspace.", to.Name)
		}
		to.ID = a.id
	case ToFactory:
		id, ok := d.factories[to.Name]
		if !ok {
			return to, nil, fault.Invalid("to.factory", "There is no factory %s in this workspace.", to.Name)
		}
		to.ID = id
	case ToPerson:
		p, ok := d.people[strings.ToLower(to.Name)]
		if !ok {
			return to, nil, fault.Invalid("to.person", "Nobody in this workspace has this e-mail address or id.")
		}
		to.ID = p.id
		to.Name = p.name
	case ToAll:
		inboxes := make([]string, 0, len(d.liveAgents))
		for _, a := range d.liveAgents {
			inboxes = append(inboxes, inboxName(Address{Kind: ToAgent, ID: a.id}))
		}
		return to, inboxes, nil
	}
	return to, []string{inboxName(to)}, nil
}
