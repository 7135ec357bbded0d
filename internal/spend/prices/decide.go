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

// Topics begins the topic of each workspace that claims wait for where their models have no
// price: a price was saved, or somebody has decided.
const Topics = "prices:"

// Topic is that of a workspace.
func Topic(workspace ids.ID) string { return Topics + workspace.String() }

// ParseTopic returns the workspace of a topic; false where it is of something else.
func ParseTopic(topic string) (ids.ID, bool) {
	text, is := strings.CutPrefix(topic, Topics)
	if !is {
		return ids.Nil, false
	}
	return ids.Parse(text)
}

// maxOpen is how many models people are asked about at a time. Claims of others wait as well.
const maxOpen = 50

// AskTx asks people about models that nobody was asked about before, once for each, and
// reports whether it did.
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
		book, err := OfTx(ctx, tx, who.Workspace)
		list = book.Unpriced
		return err
	})
	return list, err
}

// Decide says what a model without a price counts as, or that it passes; a later decision
// takes the place of the one before. What was used of it without a known cost is priced
// within a minute. Faults: Forbidden; Validation by field: what it counts as must have a
// price, and it must have none itself.
func (s *Service) Decide(ctx context.Context, who tenancy.Principal, u Unpriced) (list []Unpriced, err error) {
	if !who.Can(tenancy.Manage) {
		return nil, fault.New(fault.Forbidden, "Only owners and admins decide on models without a price.")
	}
	u.Name = lower(u.Name)
	if err := u.check(); err != nil {
		return nil, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = decideTx(ctx, tx, who, u)
		return err
	})
	if err == nil {
		s.changed(who.Workspace)
	}
	return list, err
}

// check refuses what is no decision, by field.
func (u Unpriced) check() error {
	p := fault.Problems{}
	p.Line("model", u.Name, MaxModel)
	p.Line("provider", u.Provider, MaxProvider)
	p.Line("counts_as.provider", u.As.Provider, MaxProvider)
	p.Line("counts_as.model", u.As.Name, MaxModel)
	if u.Name == "" {
		p.Add("model", "It must not be empty.")
	}
	switch {
	case u.Decision != Count && u.Decision != Pass:
		p.Add("decision", "It must be count or pass.")
	case u.Decision == Count && u.As.Name == "":
		p.Add("counts_as", "It must name the model that it counts as.")
	case u.Decision == Pass && u.As != Model{}:
		p.Add("counts_as", "It must be left out where the model passes.")
	}
	return p.Err()
}

func decideTx(ctx context.Context, tx db.Tx, who tenancy.Principal, u Unpriced) ([]Unpriced, error) {
	book, err := OfTx(ctx, tx, who.Workspace)
	if err != nil {
		return nil, err
	}
	before := Unpriced{}
	if known := book.of(u.Name); known != nil {
		before = *known
	}
	if u.Provider == "" {
		u.Provider = before.Provider
	}
	since := time.Now()
	p := fault.Problems{}
	if _, priced := book.List.Find(u.Provider, u.Name, since); priced {
		p.Add("model", "It must be a model without a price: %s has one.", u.Name)
	}
	as, known := book.List.Find(u.As.Provider, u.As.Name, since)
	if u.Decision == Count && !known {
		p.Add("counts_as", "It must be a model that has a price.")
	}
	if err := p.Err(); err != nil || before.Decision == u.Decision && before.As == u.As {
		return book.Unpriced, err
	}
	if err := saveDecisionTx(ctx, tx, who, u); err != nil {
		return nil, err
	}
	if u.Decision == Count {
		if err := q.UsagePricingAsk(ctx, tx, who.Workspace, as.From); err != nil {
			return nil, err
		}
	}
	changes := []eventlog.Change{{Field: "decision", Old: before.says(), New: u.says()}}
	facts := map[string]any{"model": u.Name, "decision": u.says()}
	if err := eventlog.RecordTx(ctx, tx, who, eventlog.PriceDecided, facts, changes...); err != nil {
		return nil, err
	}
	book, err = OfTx(ctx, tx, who.Workspace)
	return book.Unpriced, err
}

// says returns a decision in a word, as events have it.
func (u Unpriced) says() string {
	if u.Decision != Count {
		return string(u.Decision)
	}
	if u.As.Provider == "" {
		return u.As.Name
	}
	return u.As.Provider + "/" + u.As.Name
}
