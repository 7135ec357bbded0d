package prices

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Limits of a workspace's prices. The table has those of the texts too.
const (
	MaxSaved    = 200 // in one call
	MaxOwn      = 1000
	MaxProvider = 64
	MaxModel    = 128
	MaxSource   = 500
)

// Publisher wakes whoever waits for a topic, in every process.
type Publisher interface{ Publish(topics ...string) }

// Service reads and saves the prices of workspaces, and what people decide on models that
// have none.
type Service struct {
	db   *db.DB
	wake Publisher
}

// NewService returns the service of the prices in d.
func NewService(d *db.DB, wake Publisher) *Service { return &Service{db: d, wake: wake} }

// publish wakes pages that show the log and claims that wait for a price. It is called after
// commit.
func (s *Service) publish(workspace ids.ID) {
	s.wake.Publish(eventlog.Topic(workspace), Topic(workspace))
}

// List returns the prices of a workspace, its own before the built-in ones.
func (s *Service) List(ctx context.Context, who tenancy.Principal) (list List, err error) {
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		book, err := BookTx(ctx, tx, who.Workspace)
		list = book.Prices
		return err
	})
	return list, err
}

// Save adds prices of a workspace, all or none, and returns all its prices. A price that it has
// already with the same numbers is left as it is. What was booked keeps its price; usage without
// a known cost is priced within a minute.
//
// Faults: Forbidden; Validation by place and field, also for a price of the same provider,
// model and instant with other numbers, and for more than MaxOwn.
func (s *Service) Save(ctx context.Context, who tenancy.Principal, list List) (all List, err error) {
	if !who.Can(tenancy.Manage) {
		return nil, fault.New(fault.Forbidden, "Only owners and admins change prices.")
	}
	if err := check(list); err != nil {
		return nil, err
	}
	list = rounded(list)
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		all, err = saveTx(ctx, tx, who, list)
		return err
	})
	if err == nil {
		s.publish(who.Workspace)
	}
	return all, err
}

// rounded returns the prices with instants as the database keeps them, so that they are found
// again.
func rounded(list List) List {
	list = slices.Clone(list)
	for i := range list {
		list[i].From = time.UnixMicro(list[i].From.UnixMicro()).UTC()
	}
	return list
}

func saveTx(ctx context.Context, tx db.Tx, who tenancy.Principal, list List) (List, error) {
	added, err := insertTx(ctx, tx, who, list)
	if err != nil {
		return nil, err
	}
	book, err := BookTx(ctx, tx, who.Workspace)
	if err != nil {
		return nil, err
	}
	all := book.Prices
	p := fault.Problems{}
	if own := len(all) - len(Builtin); own > MaxOwn {
		p.Add("prices", "A workspace must have at most %d prices of its own (these would be %d).", MaxOwn, own)
	}
	for i, price := range list {
		saved, _ := all.findOwn(price)
		if !saved.costsAs(price) {
			p.Add(fmt.Sprintf("prices[%d].valid_from", i),
				"It must be another instant: %s has other prices from then on already, and what was booked keeps them.", price.Model)
		}
	}
	if err := p.Err(); err != nil || added == 0 {
		return all, err
	}
	since := list[0].From
	for _, price := range list {
		if price.From.Before(since) {
			since = price.From
		}
	}
	if err := q.UsagePricingAsk(ctx, tx, who.Workspace, since); err != nil {
		return nil, err
	}
	models := make([]string, len(list))
	for i, price := range list {
		models[i] = price.Provider + "/" + price.Model
	}
	return all, eventlog.RecordTx(ctx, tx, who, eventlog.PriceSaved, map[string]any{"models": models, "added": added})
}

// costsAs reports whether two prices have the same numbers.
func (p Price) costsAs(other Price) bool {
	return p.Rates == other.Rates && p.FlatRate == other.FlatRate && p.BatchPermille == other.BatchPermille
}

// findOwn returns the workspace's price of the same provider, model and instant.
func (l List) findOwn(like Price) (Price, bool) {
	i := slices.IndexFunc(l, func(p Price) bool {
		return p.ID > 0 && p.Provider == like.Provider && p.Model == like.Model && p.From.Equal(like.From)
	})
	if i < 0 {
		return Price{}, false
	}
	return l[i], true
}

// check returns what is wrong with prices that somebody wants to save, by place and field.
func check(list List) error {
	p := fault.Problems{}
	if len(list) < 1 || len(list) > MaxSaved {
		p.Add("prices", "It must have 1 to %d prices (it has %d).", MaxSaved, len(list))
		return p.Err()
	}
	type key struct {
		provider, model string
		from            int64
	}
	seen := map[key]bool{}
	for i, price := range list {
		at := fmt.Sprintf("prices[%d].", i)
		p.Line(at+"provider", price.Provider, MaxProvider)
		p.Line(at+"model", price.Model, MaxModel)
		p.Text(at+"source", price.Source, MaxSource)
		for field, text := range map[string]string{"provider": price.Provider, "model": price.Model} {
			if strings.TrimSpace(text) == "" {
				p.Add(at+field, "It must not be empty.")
			}
		}
		if strings.Count(price.Model, "*") > 1 {
			p.Add(at+"model", "It must have one * at most.")
		}
		for field, rate := range map[string]int64{
			"input":          price.Rates.Input,
			"cache_read":     price.Rates.CacheRead,
			"cache_write":    price.Rates.CacheWrite,
			"cache_write_1h": price.Rates.CacheWrite1h,
			"output":         price.Rates.Output,
		} {
			if rate < 0 || rate > MaxRate {
				p.Add(at+field, RateRule)
			}
		}
		if price.BatchPermille < 0 || price.BatchPermille > WholePrice {
			p.Add(at+"batch_factor", FactorRule)
		}
		if year := price.From.UTC().Year(); year < 2000 || year > 2200 {
			p.Add(at+"valid_from", "Its year must be 2000 to 2200 (it is %d).", year)
		}
		k := key{price.Provider, price.Model, price.From.UnixMicro()}
		if seen[k] {
			p.Add(at+"valid_from", "It must be another instant than that of the same model before it.")
		}
		seen[k] = true
	}
	return p.Err()
}
