package budgets

import (
	"context"
	"strconv"
	"time"

	usageparts "github.com/fleetboard/fleetboard/handlers/parts/usage"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	view "github.com/fleetboard/fleetboard/views/budgets"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// shownPast is how many past periods the page shows.
const shownPast = 6

// past returns how the last periods of a budget ended; nil for one without periods.
func (p *pages) past(ctx context.Context, who tenancy.Principal, b budgets.Budget) (*view.Past, error) {
	if b.Period == budgets.Once {
		return nil, nil
	}
	list, err := p.Budgets.Past(ctx, who, b.ID, shownPast)
	if err != nil {
		return nil, err
	}
	m := &view.Past{}
	if n := len(list); n > 0 {
		m.About = "the last " + web.Plural(n, string(b.Period), string(b.Period)+"s")
	}
	for _, s := range list {
		of := toMeasure(s)
		row := view.PastPeriod{Name: periodName(b, s.Start), URL: links.BudgetLedgerFrom(b.ID.String(), "", periodText(s.Start), ""),
			Bar: of.bar(), Spent: of.text(of.settled), Limit: of.limitText(),
			Tokens: usageparts.Tokens(s.Settled.Tokens), Runs: ui.Count(int(s.Settled.Runs))}
		if of.limited && of.limit > 0 {
			row.Percent = strconv.Itoa(int(float64(of.settled)/float64(of.limit)*100+0.5)) + "%"
		}
		if of.limited && of.settled > of.limit {
			row.Tone = ui.Bad
		}
		m.Rows = append(m.Rows, row)
	}
	return m, nil
}

// periodName says which period began then.
func periodName(b budgets.Budget, start time.Time) ui.Sentence {
	local := start.In(budgetZone(b))
	switch b.Period {
	case budgets.Month:
		return ui.Say(ui.Moment(ui.Month(local)))
	case budgets.Quarter:
		return ui.Text("Q" + strconv.Itoa((int(local.Month())+2)/3) + " " + strconv.Itoa(local.Year()))
	case budgets.Week:
		return ui.Say(ui.T("Week of "), ui.Moment(ui.CalendarDate(local)))
	case budgets.Day, budgets.Once:
	}
	return ui.Say(ui.Moment(ui.CalendarDate(local)))
}

// uses are the amounts of a period, side by side.
func uses(s budgets.State) []view.Use {
	free, _ := s.Free()
	tokens, _ := s.FreeTokens()
	runs, _ := s.FreeRuns()
	money := view.Use{Name: "Money", Settled: s.Settled.Money.String(), Reserved: s.Reserved.Money.String(), Free: free.String()}
	if s.Money == nil {
		money.Free, money.Limit = "", "none"
	} else {
		money.Limit = s.Money.String()
	}
	count := func(name string, settled, reserved, free int64, limit *int64) view.Use {
		u := view.Use{Name: name, Settled: usageparts.Tokens(settled), Reserved: usageparts.Tokens(reserved), Limit: "none"}
		if limit != nil {
			u.Free, u.Limit = usageparts.Tokens(free), usageparts.Tokens(*limit)
		}
		return u
	}
	return []view.Use{money, count("Tokens", s.Settled.Tokens, s.Reserved.Tokens, tokens, s.Tokens),
		count("Runs", s.Settled.Runs, s.Reserved.Runs, runs, s.Runs)}
}
