package budgeting

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
)

// Refusal is why a job waits for a budget.
type Refusal struct {
	Budget    ids.ID
	Name      string
	Free      string // what it has: "$0.40", "1,000 tokens", "0 runs"
	Needed    string // what the job has to reserve
	Throttled bool   // it has enough left, and keeps it for jobs of a higher priority
	Model     string // that has no price, where that is why
}

// Reason says so in a sentence without its full stop.
func (r Refusal) Reason() string {
	if r.Model != "" {
		return fmt.Sprintf("The model %q has no price, and the budget %q lets only models with a price spend", r.Model, r.Name)
	}
	if r.Throttled {
		return fmt.Sprintf("The budget %q would run out before its period ends, and keeps what is left for more urgent jobs", r.Name)
	}
	return fmt.Sprintf("The budget %q has %s free, and the job needs %s", r.Name, r.Free, r.Needed)
}

// budget is one that a job counts for, with the present state of its period.
type budget struct {
	id             ids.ID
	name           string
	hard           bool
	slice          spend.Nanos
	sliceTokens    int64
	alertAt        []int
	throttledBelow int
	period         budgets.Period
	zone           *time.Location
	state          budgets.State
}

// setPeriod sets the period of the budget, and refuses one that has no bounds at an instant.
func (b *budget) setPeriod(period, zone string, now time.Time) (err error) {
	b.period = budgets.Period(period)
	if b.zone, err = time.LoadLocation(zone); err == nil {
		_, _, err = b.period.Bounds(now, b.zone)
	}
	if err != nil {
		return fmt.Errorf("budget %s: %w", b.id, err)
	}
	return nil
}

// bounds returns those of the period in which an instant lies.
func (b *budget) bounds(at time.Time) (start, end time.Time) {
	start, end, _ = b.period.Bounds(at, b.zone) // setPeriod has refused an unknown period
	return start, end
}

// presentAt reports whether an instant lies in the present period.
func (b *budget) presentAt(at, now time.Time) bool {
	start, end := b.bounds(at)
	return !now.Before(start) && now.Before(end)
}

// ask is a job that is to be claimed, and the budgets that it counts for.
type ask struct {
	job      ids.ID
	epoch    int64 // of the lease that it is to get
	priority int
	budgets  []*budget
}

// slice is what a lease reserves of one budget: 0 of what has no limit.
type slice struct {
	budget *budget
	nanos  spend.Nanos
	tokens int64
}

// decide gives each job its slices, in the order of the jobs, or says which budget has too
// little left for it. What one is given the next ones do not find.
func decide(asks []ask) (map[ids.ID][]slice, map[ids.ID]Refusal) {
	given, refused := map[ids.ID][]slice{}, map[ids.ID]Refusal{}
	for _, a := range asks {
		if r, no := a.refusal(); no {
			refused[a.job] = r
			continue
		}
		for _, b := range a.budgets {
			given[a.job] = append(given[a.job], b.take())
		}
	}
	return given, refused
}

// refusal is by the first budget that keeps what is left for more urgent jobs, or that is
// hard and has too little left.
func (a ask) refusal() (Refusal, bool) {
	for _, b := range a.budgets {
		if a.priority < b.throttledBelow {
			return Refusal{Budget: b.id, Name: b.name, Throttled: true}, true
		}
		if !b.hard {
			continue
		}
		if free, needed, short := b.short(); short {
			return Refusal{Budget: b.id, Name: b.name, Free: free, Needed: needed}, true
		}
	}
	return Refusal{}, false
}

// short reports whether no slice is left of the budget, and says what is.
func (b *budget) short() (free, needed string, short bool) {
	if n, limited := b.state.Free(); limited && n < b.slice {
		return max(n, 0).Floor().String(), b.slice.Exact(), true
	}
	if n, limited := b.state.FreeTokens(); limited && n < b.sliceTokens {
		return fmt.Sprintf("%d tokens", max(n, 0)), fmt.Sprintf("%d", b.sliceTokens), true
	}
	if n, limited := b.state.FreeRuns(); limited && n < 1 {
		return "no run", "one", true
	}
	return "", "", false
}

// take reserves a slice and counts a run.
func (b *budget) take() slice {
	s := slice{budget: b}
	if b.state.Money != nil {
		s.nanos = b.slice
	}
	if b.state.Tokens != nil {
		s.tokens = b.sliceTokens
	}
	b.state.Reserved.Money += s.nanos
	b.state.Reserved.Tokens += s.tokens
	b.state.Settled.Runs++
	return s
}

// usedUp returns the message to the holder of a job that the budget has nothing left for.
func (b *budget) usedUp() string {
	return fmt.Sprintf("The budget %q is used up. Somebody raises it, then the job goes on.", b.name)
}

// reached returns the thresholds, in per cent, that a settlement has brought the budget to.
func (b *budget) reached(before budgets.State) []int {
	var list []int
	for _, at := range b.alertAt {
		if percent(b.state, at) && !percent(before, at) {
			list = append(list, at)
		}
	}
	return list
}

// percent reports whether so many per cent of one of the limits are settled.
func percent(s budgets.State, at int) bool {
	money, tokens, runs := s.Money, s.Tokens, s.Runs
	return money != nil && share(int64(s.Settled.Money), int64(*money), at) ||
		tokens != nil && share(s.Settled.Tokens, *tokens, at) || runs != nil && share(s.Settled.Runs, *runs, at)
}

// share reports whether part is at least that many per cent of a whole. Neither is below 0.
func share(part, whole int64, at int) bool {
	high, low := bits.Mul64(uint64(part), 100)                 //nolint:gosec // not below 0
	wantHigh, wantLow := bits.Mul64(uint64(whole), uint64(at)) //nolint:gosec // not below 0
	return high > wantHigh || high == wantHigh && low >= wantLow
}
