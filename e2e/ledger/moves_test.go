package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	leases "github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/budgets"
)

const cent = 10_000_000

var (
	products = []string{"default", "vega"}
	phases   = []string{"", "M1", "M2"}
)

// moves returns what may happen, each as often as it stands here.
func (l *life) moves() []func() {
	list := []func(){l.createJob, l.createBudget}
	if l.anyJob((*job).ready) != nil {
		list = append(list, l.claim, l.claim, l.claim, l.claimByName)
	}
	if l.anyLease(lasts) != nil {
		list = append(list, l.spend, l.spend, l.spend, l.spend, l.spend, l.beat, l.progress, l.end, l.end, l.end, l.recover, l.reap)
	}
	if len(l.leases) > 0 {
		list = append(list, l.spend, l.fire, l.moveJob)
	}
	if len(l.budgets) > 0 {
		list = append(list, l.change, l.change, l.raise, l.raise, l.remove, l.turn, l.sweep)
	}
	if len(l.budgets) > 1 {
		list = append(list, l.transfer, l.transfer)
	}
	if len(l.raises)+len(l.transfers) > 0 {
		list = append(list, l.undo, l.undo)
	}
	return list
}

// next makes one move, and compares what is stored with the model.
func (l *life) next() {
	l.T.Helper()
	pick(l, l.moves())()
	l.compare()
}

// over reads the ledgers, and ends all that lasts: every lease ends, and so does every budget.
func (l *life) over() {
	l.T.Helper()
	l.readLedgers()
	for _, x := range l.leases {
		if x.lasts {
			l.endLease(x)
			l.compare()
		}
	}
	l.readLedgers()
	for _, b := range slices.Clone(l.budgets) {
		l.removeBudget(b)
		l.compare()
	}
}

func pick[T any](l *life, list []T) T { return list[l.r.IntN(len(list))] }

// chance reports one of so many.
func (l *life) chance(of int) bool { return l.r.IntN(of) == 0 }

func lasts(x *lease) bool { return x.lasts }

func (l *life) anyLease(fits func(*lease) bool) *lease {
	return anyOf(l, l.leases, fits)
}

func (l *life) anyJob(fits func(*job) bool) *job { return anyOf(l, l.jobs, fits) }

func anyOf[T any](l *life, list []*T, fits func(*T) bool) *T {
	some := slices.DeleteFunc(slices.Clone(list), func(x *T) bool { return !fits(x) })
	if len(some) == 0 {
		return nil
	}
	return pick(l, some)
}

func (l *life) name(what string) string {
	l.named++
	return fmt.Sprint(what, "-", l.named)
}

// must ends the life where a call failed.
func (l *life) must(err error, what string) {
	l.T.Helper()
	if err != nil {
		l.fatal("%s: %v", what, err)
	}
}

// refuses ends the life unless a call failed with one of the codes exactly where the model
// says so.
func (l *life) refuses(err error, want bool, what string, codes ...fault.Code) {
	l.T.Helper()
	if err != nil && !slices.Contains(codes, fault.From(err).Code) {
		l.fatal("%s: %v", what, err)
	}
	if (err != nil) != want {
		l.fatal("%s: %v; a refusal was expected: %t", what, err, want)
	}
}

func (l *life) hire() *agent { return &agent{Principal: l.Agent(l.name("agent"))} }

func (l *life) createJob() {
	j := &job{product: pick(l, products), phase: pick(l, phases)}
	made := l.Job(l.name("job"), dispatchtest.Losses(100), func(n *jobs.New) { n.Product, n.Phase = j.product, j.phase })
	j.id, j.key = made.ID, made.Key
	l.jobs = append(l.jobs, j)
	l.note("job %s of %s, phase %q", j.key, j.product, j.phase)
}

// moveJob gives a job another phase, also while an agent works on it.
func (l *life) moveJob() {
	j, phase := pick(l, l.jobs), pick(l, phases)
	l.note("%s goes to the phase %q", j.key, phase)
	now, err := l.Jobs.Get(l.Ctx, l.Owner, j.key)
	l.must(err, "get "+j.key)
	if _, err := l.Jobs.Patch(l.Ctx, l.Owner, j.key, jobs.Patch{Version: now.Version, Spec: jobs.Spec{Phase: phase},
		Set: []string{"phase"}}); err == nil {
		j.phase = phase
	} else if fault.From(err).Code != fault.InvalidTransition {
		l.fatal("move %s: %v", j.key, err)
	}
}

// createBudget makes one of any scope, with one to three limits.
func (l *life) createBudget() {
	b := &budget{name: l.name("budget"), daily: l.chance(2), hard: !l.chance(4), periods: map[int]*period{}}
	in := budgets.Input{Name: b.name, Scope: budgets.Workspace, Period: budgets.Once, Timezone: l.zone, Hard: b.hard, Unpriced: budgets.AllowUnpriced}
	if b.daily {
		in.Period = budgets.Day
	}
	switch l.r.IntN(6) {
	case 0:
		b.product = pick(l, products)
		in.Scope, in.Product = budgets.Product, b.product
	case 1:
		b.phase = pick(l, phases[1:])
		in.Scope, in.Phase = budgets.Milestone, b.phase
		if l.chance(2) {
			b.product = pick(l, products)
			in.Product = b.product
		}
	case 2:
		j := pick(l, l.jobs)
		b.job = j.id
		in.Scope, in.Job = budgets.Job, j.key
	}
	if !l.chance(6) {
		b.limit[money] = new(int64(l.r.IntN(80)) * cent)
	}
	if b.limit[money] == nil || l.chance(3) {
		b.limit[tokens] = new(int64(l.r.IntN(200)))
	}
	if l.chance(5) {
		b.limit[runs] = new(int64(l.r.IntN(8)))
	}
	b.slice = [meters]int64{l.slice(20, cent, b.limit[money]), l.slice(40, 1, b.limit[tokens]), 0}
	in.Limits = budgets.Limits{Money: (*spend.Nanos)(copied(b.limit[money])), Tokens: copied(b.limit[tokens]), Runs: copied(b.limit[runs])}
	in.Slice, in.SliceTokens = new(spend.Nanos(b.slice[money])), new(b.slice[tokens])
	l.note("budget %s: %s %s %q, %s, hard %t, limits %s, slices %v", b.name, in.Scope, in.Product, in.Phase, in.Period, b.hard,
		(&period{limit: b.limit}).String(), b.slice)
	made, err := l.money.Create(l.Ctx, l.Owner, in)
	l.must(err, "create a budget")
	b.id = made.ID
	b.open(l.day)
	l.budgets = append(l.budgets, b)
}

// slice returns what a lease reserves at a time, at most the limit.
func (l *life) slice(most int, unit int64, limit *int64) int64 {
	n := int64(1+l.r.IntN(most)) * unit
	if limit != nil && *limit > 0 {
		n = min(n, *limit)
	}
	return n
}

// change gives a budget other limits, another slice, or makes it hard or soft.
func (l *life) change() {
	b := pick(l, l.budgets)
	limit, hard := b.limit, b.hard
	var p budgets.Patch
	switch l.r.IntN(5) {
	case 0:
		hard = !hard
		p.Hard = &hard
	case 1:
		limit[tokens] = new(int64(l.r.IntN(200)))
		p.Tokens = budgets.Ceiling[int64]{Set: true, Value: limit[tokens]}
	case 2:
		if limit[money], limit[runs] = nil, new(int64(l.r.IntN(9))); l.chance(2) {
			limit[money], limit[runs] = new(int64(l.r.IntN(80))*cent), nil
		}
		p.Money, p.Runs = budgets.Ceiling[spend.Nanos]{Set: true, Value: (*spend.Nanos)(limit[money])}, budgets.Ceiling[int64]{Set: true, Value: limit[runs]}
	default:
		limit[money] = new(int64(l.r.IntN(80)) * cent)
		p.Money = budgets.Ceiling[spend.Nanos]{Set: true, Value: (*spend.Nanos)(limit[money])}
	}
	if limit == ([meters]*int64{}) {
		return
	}
	slice := b.slice
	if l.chance(3) {
		slice[money] = l.slice(20, cent, limit[money])
		p.Slice = new(spend.Nanos(slice[money]))
	}
	for _, meter := range []int{money, tokens} {
		if limit[meter] != nil && *limit[meter] > 0 {
			slice[meter] = min(slice[meter], *limit[meter])
		}
	}
	l.note("change %s: hard %t, %s, slices %v", b.name, hard, (&period{limit: limit}).String(), slice)
	_, err := l.money.Change(l.Ctx, l.Owner, b.id, p)
	l.must(err, "change "+b.name)
	roomier := b.hard && !hard || slice[money] < b.slice[money] || b.limit[tokens] != nil && slice[tokens] < b.slice[tokens]
	b.hard, b.slice = hard, slice
	if l.limits(b, limit) || roomier {
		l.wake()
	}
}

func (l *life) remove() {
	if !l.chance(3) {
		return
	}
	l.removeBudget(pick(l, l.budgets))
}

func (l *life) removeBudget(b *budget) {
	l.T.Helper()
	l.note("remove %s", b.name)
	l.must(l.money.Remove(l.Ctx, l.Owner, b.id), "remove "+b.name)
	l.model.remove(b)
	l.wake()
}

func (l *life) raise() {
	b, amount, until := pick(l, l.budgets), int64(1+l.r.IntN(40))*cent, 0
	in := budgets.Raise{Amount: spend.Nanos(amount)}
	if l.chance(2) {
		until, in.Until = l.day+1, new(time.Now().Add(12*time.Hour))
	}
	l.note("raise %s by %d cents until day %d", b.name, amount/cent, until)
	p := b.open(l.day)
	moved, err := l.money.Raise(l.Ctx, l.Owner, b.id, in)
	l.refuses(err, p.limit[money] == nil, "raise "+b.name, fault.Validation)
	if err == nil {
		p.give(amount)
		l.raises = append(l.raises, &raise{line: moved.Line, of: b, day: b.begins(l.day), left: amount, until: until})
		l.wake()
	}
}

func (l *life) transfer() {
	from, to, amount := pick(l, l.budgets), pick(l, l.budgets), int64(1+l.r.IntN(40))*cent
	if from == to {
		return
	}
	l.note("transfer %d cents from %s to %s", amount/cent, from.name, to.name)
	giver, taker := from.open(l.day), to.open(l.day)
	free, limited := giver.free(money)
	moved, err := l.money.Transfer(l.Ctx, l.Owner, from.id, budgets.Transfer{To: to.id, Amount: spend.Nanos(amount)})
	l.refuses(err, !limited || taker.limit[money] == nil || free < amount, "transfer", fault.Validation, fault.OverBudget)
	if err == nil {
		giver.give(-amount)
		taker.give(amount)
		l.transfers = append(l.transfers, &transfer{line: moved.Line, from: from, to: to, fromDay: from.begins(l.day), toDay: to.begins(l.day), amount: amount})
		l.wake()
	}
}

// undo takes a raise or a transfer back, whole or not at all.
func (l *life) undo() {
	if n := l.r.IntN(len(l.raises) + len(l.transfers)); n < len(l.raises) {
		l.undoRaise(l.raises[n])
	} else {
		l.undoTransfer(l.transfers[n-len(l.raises)])
	}
}

func (l *life) undoRaise(r *raise) {
	l.note("undo the raise of %s, of which %d cents are left", r.of.name, r.left/cent)
	free, limited := r.of.open(l.day).free(money)
	_, err := l.money.Undo(l.Ctx, l.Owner, r.of.id, r.line, nil)
	l.refuses(err, r.left == 0 || r.day != r.of.begins(l.day) || !limited || free < r.left, "undo", fault.InvalidTransition, fault.OverBudget)
	if err == nil {
		l.takeBack(r, r.left)
	}
}

func (l *life) undoTransfer(t *transfer) {
	l.note("undo the transfer of %d cents from %s to %s", t.amount/cent, t.from.name, t.to.name)
	giver, taker := t.to.open(l.day), t.from.open(l.day)
	free, limited := giver.free(money)
	_, err := l.money.Undo(l.Ctx, l.Owner, t.from.id, t.line, nil)
	l.refuses(err, t.reversed || t.fromDay != t.from.begins(l.day) || t.toDay != t.to.begins(l.day) || !limited ||
		taker.limit[money] == nil || free < t.amount, "undo", fault.InvalidTransition, fault.OverBudget, fault.Validation)
	if err == nil {
		t.reversed = true
		giver.give(-t.amount)
		taker.give(t.amount)
		l.wake()
	}
}

// claim takes one or several jobs, the most urgent first.
func (l *life) claim() {
	by, most := pick(l, l.agents), 1+l.r.IntN(3)
	got, err := l.Dispatch.Claim(l.Ctx, by.Principal, claim.Request{Max: most})
	l.must(err, "claim")
	l.note("claim up to %d: %d given", most, len(got.Jobs))
	for _, j := range got.Jobs {
		l.given(j, by)
	}
	for _, j := range l.jobs {
		if j.ready() && len(got.Jobs) == 0 && l.refused(j) == nil {
			l.fatal("nothing was given, and %s has room in its budgets", j.key)
		}
	}
}

// given is a job that an agent got. A hard budget never gives what it has not.
func (l *life) given(got jobs.Job, by *agent) {
	l.T.Helper()
	j := l.jobs[slices.IndexFunc(l.jobs, func(j *job) bool { return j.id == got.ID })]
	l.note("%s got %s, epoch %d", by.Name, j.key, got.Epoch)
	if short := l.model.claim(j, got.Epoch, by); short != nil {
		l.fatal("%s was given, and %s had no room for it", j.key, short.name)
	}
}

func (l *life) claimByName() {
	j, by := l.anyJob((*job).ready), pick(l, l.agents)
	l.note("claim %s", j.key)
	got, err := l.Dispatch.Claim(l.Ctx, by.Principal, claim.Request{Job: j.key})
	l.refuses(err, l.refused(j) != nil, "claim "+j.key, fault.NotClaimable)
	if err == nil {
		l.given(got.Jobs[0], by)
	}
}

// spend reports one to six entries, new ones and more of old ones, of leases that last and
// that have ended, of today and of days before.
func (l *life) spend() {
	some := l.anyLease(func(x *lease) bool { return !x.by.over })
	if some == nil {
		return
	}
	var lines []report.UsageLine
	var list []told
	for range 1 + l.r.IntN(6) {
		x, back := some, 0
		if l.chance(3) {
			x = l.anyLease(func(x *lease) bool { return x.by == some.by })
		}
		if l.chance(4) {
			back = l.r.IntN(3)
		}
		t := told{entryName: entryName{x.leaseName.job, fmt.Sprint("m-", l.r.IntN(12))}, by: x, day: max(l.day-back, x.claimed),
			nanos: int64(l.r.IntN(16)) * cent, tokens: int64(l.r.IntN(40))}
		list = append(list, t)
		lines = append(lines, report.UsageLine{Lease: leases.Ref{Job: x.job.key, Epoch: x.epoch}, Entry: spend.Entry{ID: t.id, Provider: "house",
			Model: "house-1", Input: t.tokens, CostUSD: new(spend.Nanos(t.nanos).USD()), At: time.Now().Add(-time.Duration(back) * 24 * time.Hour)}})
		l.note("%s epoch %d tells %s of day %d: %d cents, %d tokens", x.job.key, x.epoch, t.id, t.day, t.nanos/cent, t.tokens)
	}
	answers, err := l.Dispatch.RecordUsage(l.Ctx, some.by.Principal, lines)
	l.must(err, "tell of usage")
	for _, a := range answers {
		if a.Refused != nil {
			l.fatal("an entry is refused: %v", a.Refused)
		}
	}
	l.settle(l.record(list))
}

func (l *life) beat() {
	x := l.anyLease(lasts)
	l.note("%s beats", x.job.key)
	who := x.by.Principal
	_, err := l.Dispatch.Heartbeat(l.Ctx, who, report.Heartbeat{Agent: who.Name, BootID: who.Boot, Status: "working",
		Leases: []report.HeartbeatLease{{Job: x.job.key, Epoch: x.epoch, ProgressPercent: new(l.r.IntN(100))}}})
	l.must(err, "beat")
}

func (l *life) progress() {
	x := l.anyLease(lasts)
	l.note("%s comes on", x.job.key)
	_, err := l.Dispatch.Progress(l.Ctx, x.by.Principal, x.ref(), report.Progress{Percent: new(l.r.IntN(100))})
	if err != nil && fault.From(err).Code != fault.Paused {
		l.fatal("progress: %v", err)
	}
}

func (x *lease) ref() leases.Ref { return leases.Ref{Job: x.job.key, Epoch: x.epoch} }

// end has an agent end a lease in one of its ways, which always succeeds.
func (l *life) end() { l.endLease(l.anyLease(lasts)) }

func (l *life) endLease(x *lease) {
	l.T.Helper()
	who := x.by.Principal
	var err error
	switch how := l.r.IntN(5); how {
	case 0:
		l.note("complete %s", x.job.key)
		_, err = l.Dispatch.Complete(l.Ctx, who, x.ref(), report.Completion{})
	case 1:
		l.note("fail %s", x.job.key)
		_, err = l.Dispatch.Fail(l.Ctx, who, x.ref(), report.Failure{Error: "broken"})
	case 2:
		l.note("ask of %s", x.job.key)
		_, err = l.Dispatch.Ask(l.Ctx, who, x.ref(), report.Question{Text: "Which?"})
	default:
		l.note("release %s", x.job.key)
		_, err = l.Dispatch.Release(l.Ctx, who, x.ref(), report.Release{Reason: "tired"})
	}
	l.must(err, "end of "+x.job.key)
	l.ended(x)
}

// ended frees what leases have reserved, which others may get that were warned.
func (l *life) ended(list ...*lease) {
	freed := false
	for _, x := range list {
		freed = l.model.end(x) || freed
	}
	if freed {
		l.wake()
	}
}

// lapse lets a lease lapse.
func (l *life) lapse() *lease {
	x := l.anyLease(lasts)
	l.note("the lease of %s lapses", x.job.key)
	l.exec(`UPDATE job_lease SET expires_at = clock_timestamp() - interval '1 second' WHERE workspace_id = $1 AND job_id = $2`, l.Workspace, x.leaseName.job)
	return x
}

func (l *life) recover() {
	x := l.lapse()
	_, err := l.Dispatch.Recover(l.Ctx, l.Owner)
	l.must(err, "recover")
	l.ended(x)
}

func (l *life) reap() {
	x := l.lapse()
	_, err := l.Dispatch.Reclaim(l.Ctx, l.Owner, x.job.key)
	l.must(err, "reclaim")
	l.ended(x)
}

// fire ends an agent and all that it holds; another one takes its place.
func (l *life) fire() {
	if !l.chance(3) {
		return
	}
	at := l.r.IntN(len(l.agents))
	by := l.agents[at]
	l.note("%s is ended", by.Name)
	var err error
	if l.chance(2) {
		_, err = l.Dispatch.Terminate(l.Ctx, l.Owner, by.Name, "over", false)
	} else {
		_, err = l.Dispatch.CutOff(l.Ctx, l.Owner, by.Name, "hostile")
	}
	l.must(err, "end of "+by.Name)
	by.over, l.agents[at] = true, l.hire()
	var list []*lease
	for _, x := range l.leases {
		if x.lasts && x.by == by {
			list = append(list, x)
		}
	}
	l.ended(list...)
}

// movePeriods moves the periods of days, with all that belongs to them.
const movePeriods = `WITH day AS (SELECT id FROM budget WHERE workspace_id = $1 AND period = 'day'),
	l AS (UPDATE budget_ledger SET period_start = period_start + make_interval(days => $2) WHERE workspace_id = $1 AND budget_id IN (SELECT id FROM day)),
	r AS (UPDATE budget_reservation SET period_start = period_start + make_interval(days => $2) WHERE workspace_id = $1 AND budget_id IN (SELECT id FROM day)),
	a AS (UPDATE budget_alert SET period_start = period_start + make_interval(days => $2) WHERE workspace_id = $1 AND budget_id IN (SELECT id FROM day)),
	s AS (UPDATE budget_raise SET period_start = period_start + make_interval(days => $2) WHERE workspace_id = $1 AND budget_id IN (SELECT id FROM day))
	UPDATE budget_period SET period_start = period_start + make_interval(days => $2), period_end = period_end + make_interval(days => $2)
	WHERE workspace_id = $1 AND budget_id IN (SELECT id FROM day)`

// turn makes it a day later, by moving what is stored a day back.
func (l *life) turn() {
	l.note("a day begins")
	l.day++
	// Farther first: in one step a day would meet the one before.
	for _, days := range []int{-1000, 999} {
		l.exec(movePeriods, l.Workspace, days)
	}
	l.exec(`WITH r AS (UPDATE budget_raise SET until = until - interval '1 day' WHERE workspace_id = $1),
		l AS (UPDATE budget_ledger SET at = at - interval '1 day' WHERE workspace_id = $1),
		k AS (UPDATE job_lease SET claimed_at = claimed_at - interval '1 day' WHERE workspace_id = $1)
		UPDATE attempt SET claimed_at = claimed_at - interval '1 day' WHERE workspace_id = $1`, l.Workspace)
	if l.chance(2) {
		l.sweep()
	}
}

// sweep opens the periods that have begun, and takes raises back that have ended.
func (l *life) sweep() {
	l.note("sweep")
	_, err := l.money.Sweep(l.Ctx)
	l.must(err, "sweep")
	begun := false
	for _, b := range l.budgets {
		begun = begun || !l.opened[b.id][b.begins(l.day)]
		b.open(l.day)
	}
	l.expire()
	if begun {
		l.wake()
	}
}
