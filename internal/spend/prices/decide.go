package prices

import (
	"context"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Topics is how the topics of prices begin. Claims of models without a price wait for the topic
// of their workspace: a price was saved, or somebody has decided.
const Topics = "prices:"

// Topic returns the topic of a workspace's prices.
func Topic(workspace ids.ID) string { return Topics + workspace.String() }

// ParseTopic returns the workspace of a topic; false where the topic is not one of prices.
func ParseTopic(topic string) (ids.ID, bool) {
	text, found := strings.CutPrefix(topic, Topics)
	if !found {
		return ids.Nil, false
	}
	return ids.Parse(text)
}

// maxOpen is how many models people are asked about at a time. Claims of further models wait
// unasked.
const maxOpen = 50

// AskTx asks people about the models that nobody was asked about before, once for each, and
// reports whether there were any.
func AskTx(ctx context.Context, tx db.Tx, who tenancy.Principal, list []Unpriced) (bool, error) {
	asked, err := insertQuestionsTx(ctx, tx, who.Workspace, list)
	if err != nil {
		return false, err
	}
	for _, u := range asked {
		err := eventlog.RecordTx(ctx, tx, who, eventlog.PriceAsked, map[string]any{
			"model": u.Name, "provider": u.Provider, "budget": u.Budget, "source": u.Source})
		if err != nil {
			return false, err
		}
	}
	return len(asked) > 0, nil
}

// Models reads the models without a price that people were asked about or have decided on,
// those that wait for a decision first.
func (s *Service) Models(ctx context.Context, who tenancy.Principal) (list []Unpriced, err error) {
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		book, err := BookTx(ctx, tx, who.Workspace)
		list = book.Unpriced
		return err
	})
	return list, err
}

// Decide saves what a model without a price counts as, or that it passes, and returns what
// Models does. A later decision replaces the one before. Usage of the model without a known cost
// is priced within a minute. Faults: Forbidden; Validation by field: the model that it counts as
// must have a price, and it must have none itself.
func (s *Service) Decide(ctx context.Context, who tenancy.Principal, d ModelDecision) (list []Unpriced, err error) {
	if !who.Can(tenancy.Manage) {
		return nil, fault.New(fault.Forbidden, "Only owners and admins decide on models without a price.")
	}
	d.Name = lower(d.Name)
	if err := d.check(); err != nil {
		return nil, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = decideTx(ctx, tx, who, d)
		return err
	})
	if err == nil {
		s.publish(who.Workspace)
	}
	return list, err
}

// check returns what is wrong with a decision, by field.
func (d ModelDecision) check() error {
	p := fault.Problems{}
	p.Line("model", d.Name, MaxModel)
	p.Line("provider", d.Provider, MaxProvider)
	p.Line("counts_as.provider", d.As.Provider, MaxProvider)
	p.Line("counts_as.model", d.As.Name, MaxModel)
	if d.Name == "" {
		p.Add("model", "It must not be empty.")
	}
	switch {
	case d.Decision != Count && d.Decision != Pass:
		p.Add("decision", "It must be count or pass.")
	case d.Decision == Count && d.As.Name == "":
		p.Add("counts_as", "It must name the model that it counts as.")
	case d.Decision == Pass && d.As != Model{}:
		p.Add("counts_as", "It must be left out where the model passes.")
	}
	return p.Err()
}

func decideTx(ctx context.Context, tx db.Tx, who tenancy.Principal, d ModelDecision) ([]Unpriced, error) {
	book, err := BookTx(ctx, tx, who.Workspace)
	if err != nil {
		return nil, err
	}
	before := ModelDecision{}
	if known := book.findUnpriced(d.Name); known != nil {
		before = known.ModelDecision
	}
	if d.Provider == "" {
		d.Provider = before.Provider
	}
	now := time.Now()
	p := fault.Problems{}
	if _, priced := book.Prices.Find(d.Provider, d.Name, now); priced {
		p.Add("model", "It must be a model without a price: %s has one.", d.Name)
	}
	price, known := book.Prices.Find(d.As.Provider, d.As.Name, now)
	if d.Decision == Count && !known {
		p.Add("counts_as", "It must be a model that has a price.")
	}
	unchanged := before.Decision == d.Decision && before.As == d.As
	if err := p.Err(); err != nil || unchanged {
		return book.Unpriced, err
	}
	if err := saveDecisionTx(ctx, tx, who, d); err != nil {
		return nil, err
	}
	if d.Decision == Count {
		if err := q.UsagePricingAsk(ctx, tx, who.Workspace, price.From); err != nil {
			return nil, err
		}
	}
	changes := []eventlog.Change{{Field: "decision", Old: before.String(), New: d.String()}}
	facts := map[string]any{"model": d.Name, "decision": d.String()}
	if err := eventlog.RecordTx(ctx, tx, who, eventlog.PriceDecided, facts, changes...); err != nil {
		return nil, err
	}
	book, err = BookTx(ctx, tx, who.Workspace)
	return book.Unpriced, err
}
