package budgets

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// Input is a budget to be made. What is nil has a default.
type Input struct {
	Name        string
	Scope       Scope
	Product     string // its name
	Phase       string
	Job         string // its key
	Period      Period
	Timezone    string // "" is UTC
	Limits      Limits
	Hard        bool
	Slice       *spend.Nanos
	SliceTokens *int64
	AlertAt     []int
	Throttle    bool
	Unpriced    Unpriced         // "" is AskUnpriced
	Once        *idempotency.Key // nil where the request is not sent again
}

// Patch is what changes of a budget; its scope, its period and its zone stay.
type Patch struct {
	Version     *int // that was seen
	Name        *string
	Money       Ceiling[spend.Nanos]
	Tokens      Ceiling[int64]
	Runs        Ceiling[int64]
	Hard        *bool
	Slice       *spend.Nanos
	SliceTokens *int64
	AlertAt     *[]int
	Throttle    *bool
	Unpriced    *Unpriced
}

// Ceiling is a limit to be set, where it is: to none by nil.
type Ceiling[T any] struct {
	Set   bool
	Value *T
}

func (c Ceiling[T]) or(before *T) *T {
	if c.Set {
		return c.Value
	}
	return before
}

// budget returns the budget that in describes, without what names other things. Validation.
func (in Input) budget() (Budget, error) {
	b := Budget{Name: in.Name, Scope: in.Scope, Phase: in.Phase, Period: in.Period, Timezone: in.Timezone, Limits: in.Limits,
		Hard: in.Hard, Slice: defaultSlice, SliceTokens: defaultSliceTokens, AlertAt: defaultAlerts, Throttle: in.Throttle,
		Unpriced: cmp.Or(in.Unpriced, AskUnpriced)}
	if b.Timezone == "" {
		b.Timezone = "UTC"
	}
	if in.Slice != nil {
		b.Slice = *in.Slice
	} else if most := in.Limits.Money; most != nil && *most > 0 {
		b.Slice = min(b.Slice, *most)
	}
	if in.SliceTokens != nil {
		b.SliceTokens = *in.SliceTokens
	} else if most := in.Limits.Tokens; most != nil && *most > 0 {
		b.SliceTokens = min(b.SliceTokens, *most)
	}
	if in.AlertAt != nil {
		b.AlertAt = in.AlertAt
	}
	p := fault.Problems{}
	b.check(p)
	in.checkScope(p)
	if !slices.Contains(Periods, in.Period) {
		p.Add("period", "It must be once, day, week, month or quarter.")
	}
	if _, known := loadZone(b.Timezone); !known || len(b.Timezone) > MaxZone {
		p.Add("timezone", "It must be a time zone like Europe/Berlin.")
	}
	return b, p.Err()
}

// checkScope checks that just what the scope needs is named.
func (in Input) checkScope(p fault.Problems) {
	if !slices.Contains(Scopes, in.Scope) {
		p.Add("scope", "It must be workspace, product, milestone or job.")
		return
	}
	needs := func(field, value string, must, may bool) {
		switch {
		case must && value == "":
			p.Add(field, "A budget of a %s must name it.", in.Scope)
		case !may && value != "":
			p.Add(field, "A budget of a %s must not name one.", in.Scope)
		}
	}
	needs("product", in.Product, in.Scope == Product, in.Scope == Product || in.Scope == Milestone)
	needs("phase", in.Phase, in.Scope == Milestone, in.Scope == Milestone)
	needs("job", in.Job, in.Scope == Job, in.Scope == Job)
	p.Name("phase", in.Phase, MaxPhase)
}

// check checks what can be edited.
func (b Budget) check(p fault.Problems) {
	p.Line("name", b.Name, MaxName)
	if b.Name == "" {
		p.Add("name", "A budget must have a name.")
	}
	if b.Limits == (Limits{}) {
		p.Add("limit_usd", "A budget must have a limit: dollars, tokens or runs.")
	}
	ceiling(p, "limit_usd", b.Money, 0, MaxMoney, "dollars")
	ceiling(p, "limit_tokens", b.Tokens, 0, MaxTokens, "tokens")
	ceiling(p, "limit_runs", b.Runs, 0, MaxRuns, "runs")
	slice(p, "slice_usd", b.Slice, b.Money)
	slice(p, "slice_tokens", b.SliceTokens, b.Tokens)
	if !slices.Contains(Unpriceds, b.Unpriced) {
		p.Add("unpriced", "It must be ask, hold or allow.")
	}
	if len(b.AlertAt) > MaxAlerts {
		p.Add("alert_at", "It must have at most %d entries.", MaxAlerts)
	}
	for i, at := range b.AlertAt {
		field := fmt.Sprintf("alert_at[%d]", i)
		p.Number(field, at, 1, MaxAlert)
		if i > 0 && at <= b.AlertAt[i-1] {
			p.Add(field, "The thresholds must rise.")
		}
	}
}

// ceiling checks a limit.
func ceiling[T spend.Nanos | int64](p fault.Problems, field string, limit *T, low, high T, unit string) {
	if limit != nil && (*limit < low || *limit > high) {
		p.Add(field, "It must be at least 0 and at most %s %s.", text(high), unit)
	}
}

// slice checks that a job can reserve its slice at all.
func slice[T spend.Nanos | int64](p fault.Problems, field string, n T, limit *T) {
	if n <= 0 {
		p.Add(field, "It must be more than 0.")
	}
	if limit != nil && *limit > 0 && n > *limit {
		p.Add(field, "It must be at most the limit, %s: no job could reserve more.", text(*limit))
	}
}

func text[T spend.Nanos | int64](n T) string {
	if money, is := any(n).(spend.Nanos); is {
		return money.String()
	}
	return fmt.Sprint(n)
}

// apply returns the budget with what p changes. Validation; VersionConflict.
func (p Patch) apply(b Budget) (Budget, error) {
	if p.Version != nil && *p.Version != b.Version {
		return b, fault.New(fault.VersionConflict, "The budget has changed: it has version %d by now.",
			b.Version).With("version", b.Version)
	}
	b.Limits = Limits{Money: p.Money.or(b.Money), Tokens: p.Tokens.or(b.Tokens), Runs: p.Runs.or(b.Runs)}
	set(&b.Name, p.Name)
	set(&b.Hard, p.Hard)
	set(&b.Slice, p.Slice)
	set(&b.SliceTokens, p.SliceTokens)
	set(&b.AlertAt, p.AlertAt)
	set(&b.Throttle, p.Throttle)
	set(&b.Unpriced, p.Unpriced)
	// A slice that was not named goes along with a smaller limit.
	if most := b.Money; p.Slice == nil && most != nil && *most > 0 {
		b.Slice = min(b.Slice, *most)
	}
	if most := b.Tokens; p.SliceTokens == nil && most != nil && *most > 0 {
		b.SliceTokens = min(b.SliceTokens, *most)
	}
	if !b.Throttle {
		b.ThrottledBelow = 0
	}
	problems := fault.Problems{}
	b.check(problems)
	return b, problems.Err()
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
