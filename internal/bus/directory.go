package bus

import (
	"context"
	"slices"
	"strings"

	"fleetboard/db"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// directory is what has to be known to address messages.
type directory struct {
	reader    readerRow // the agent that sends
	agents    map[string]agentRow
	live      []agentRow
	factories map[string]ids.ID
	people    map[string]personRow
	jobs      map[string]jobRow
	threads   map[ids.ID]string
	products  map[string][]string // of agents, by their inboxes: those that their tokens are limited to
}

type agentRow struct {
	id       ids.ID
	name     string
	products []string
}

type personRow struct {
	id   ids.ID
	name string
}

type jobRow struct {
	id, productID ids.ID
	key, product  string
}

// wanted is what of a directory a list of messages needs.
type wanted struct {
	agents, factories, emails, jobKeys []string
	people, jobs, replies              []ids.ID
	everybody                          bool
}

func wantedBy(list []Draft) (w wanted) {
	for _, n := range list {
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
		if n.Job != "" {
			if id, ok := ids.Parse(n.Job); ok {
				w.jobs = append(w.jobs, id)
			} else {
				w.jobKeys = append(w.jobKeys, n.Job)
			}
		}
		if n.InReplyTo != ids.Nil {
			w.replies = append(w.replies, n.InReplyTo)
		}
	}
	return w
}

// lookUp reads, in one round trip, what messages need to be addressed, and runs one step
// more.
func lookUp(ctx context.Context, tx db.Tx, who tenancy.Principal, list []Draft, also func(db.Tx) error) (directory, error) {
	d := directory{agents: map[string]agentRow{}, factories: map[string]ids.ID{}, people: map[string]personRow{}, jobs: map[string]jobRow{},
		threads: map[ids.ID]string{}, products: map[string][]string{}}
	w := wantedBy(list)
	steps := []func(db.Tx) error{also}
	add := func(needed bool, step func(db.Tx) error) {
		if needed {
			steps = append(steps, step)
		}
	}
	add(who.Kind == tenancy.KindAgent, func(tx db.Tx) (err error) {
		d.reader, err = readerTx(ctx, tx, who.Workspace, who.Agent)
		return err
	})
	add(len(w.agents) > 0 || w.everybody, func(tx db.Tx) error { return d.readAgents(ctx, tx, who.Workspace, w) })
	add(len(w.factories) > 0, func(tx db.Tx) error { return d.readFactories(ctx, tx, who.Workspace, w) })
	add(len(w.emails)+len(w.people) > 0, func(tx db.Tx) error { return d.readPeople(ctx, tx, who.Workspace, w) })
	add(len(w.jobs)+len(w.jobKeys) > 0, func(tx db.Tx) error { return d.readJobs(ctx, tx, who.Workspace, w) })
	add(len(w.replies) > 0, func(tx db.Tx) error { return d.readThreads(ctx, tx, who.Workspace, w) })
	err := tx.Pipeline(ctx, steps...)
	return d, err
}

// resolve finds whom an address names, and the inboxes that its messages go to.
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
		to.ID, to.Name = p.id, p.name
	case ToAll:
		inboxes := make([]string, 0, len(d.live))
		for _, a := range d.live {
			inboxes = append(inboxes, inboxOf(Address{Kind: ToAgent, ID: a.id}))
		}
		return to, inboxes, nil
	}
	return to, []string{inboxOf(to)}, nil
}

// inScope leaves of the inboxes those whose agents may read of a product. Of shared ones
// each reader gets only what it may read.
func (d *directory) inScope(inboxes []string, product string) []string {
	return slices.DeleteFunc(inboxes, func(inbox string) bool {
		limits, known := d.products[inbox]
		return known && len(limits) > 0 && !slices.Contains(limits, product)
	})
}
