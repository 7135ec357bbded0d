package ledger

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// The meters of a budget. Runs are counted when they begin, and never reserved.
const (
	money = iota
	tokens
	runs
	meters
)

// period is how one period of a budget stands.
type period struct {
	limit    [meters]*int64
	settled  [meters]int64
	reserved [meters]int64
	alerts   map[int]bool // the thresholds that were reported
}

func (p *period) free(meter int) (n int64, limited bool) {
	if p.limit[meter] == nil {
		return 0, false
	}
	return *p.limit[meter] - p.settled[meter] - p.reserved[meter], true
}

// reaches reports whether so many per cent of one of the limits are settled.
func (p *period) reaches(percent int) bool {
	for meter, limit := range p.limit {
		if limit != nil && p.settled[meter]*100 >= *limit*int64(percent) {
			return true
		}
	}
	return false
}

// reached returns the thresholds at which the period stands.
func (p *period) reached(thresholds []int) map[int]bool {
	at := map[int]bool{}
	for _, t := range thresholds {
		if p.reaches(t) {
			at[t] = true
		}
	}
	return at
}

// forget drops thresholds that are not reached any more, so that they are reported anew.
func (p *period) forget() {
	maps.DeleteFunc(p.alerts, func(at int, _ bool) bool { return !p.reaches(at) })
}

// give makes the limit of money more, or less.
func (p *period) give(amount int64) {
	p.limit[money] = new(*p.limit[money] + amount)
	p.forget()
}

// budget is one that people made.
type budget struct {
	id      ids.ID
	name    string
	daily   bool // it begins anew with each day; else it has one period
	hard    bool
	product string // "" is all
	phase   string // "" is all
	job     ids.ID // Nil is all
	limit   [meters]*int64
	slice   [meters]int64
	periods map[int]*period // by the day on which they begin
}

// begins returns the day on which the period begins that a day lies in.
func (b *budget) begins(day int) int {
	if b.daily {
		return day
	}
	return 0
}

// open returns the period that a day lies in.
func (b *budget) open(day int) *period {
	start := b.begins(day)
	if b.periods[start] == nil {
		b.periods[start] = &period{limit: b.limit, alerts: map[int]bool{}}
		for meter, limit := range b.limit {
			b.periods[start].limit[meter] = copied(limit)
		}
	}
	return b.periods[start]
}

func copied(n *int64) *int64 {
	if n == nil {
		return nil
	}
	return new(*n)
}

// refuses reports whether a hard budget has too little left for another lease.
func (b *budget) refuses(day int) bool {
	p := b.open(day)
	for meter := range meters {
		need := b.slice[meter]
		if meter == runs {
			need = 1
		}
		if free, limited := p.free(meter); b.hard && limited && free < need {
			return true
		}
	}
	return false
}

// job is one that agents work on.
type job struct {
	id      ids.ID
	key     string
	product string
	phase   string
	status  string // as it is stored
	held    bool   // it waits for a budget
}

// leaseName names a lease.
type leaseName struct {
	job   ids.ID
	epoch int64
}

// lease is one that an agent has, or had.
type lease struct {
	leaseName
	job     *job
	by      *agent
	claimed int // the day
	lasts   bool
	warned  bool // as it is stored
}

// reservation names what a lease has reserved of a period.
type reservation struct {
	lease leaseName
	of    *budget
	day   int // on which the period begins
}

// raise is what is left of one that was not taken back.
type raise struct {
	line  int64
	of    *budget
	day   int // on which the period begins
	left  int64
	until int // the day on which it ends; never is 0
}

// transfer is one that may be taken back.
type transfer struct {
	line           int64
	from, to       *budget
	fromDay, toDay int
	amount         int64
	reversed       bool
}

// entry is what is known of a message to a model.
type entry struct {
	nanos, tokens int64
	under         leaseName // that reported it first
}

// entryName names an entry within its job.
type entryName struct {
	job ids.ID
	id  string
}

// model is what is known of the money of one workspace.
type model struct {
	day       int
	budgets   []*budget // that were not removed, by their ids
	removed   []*budget
	jobs      []*job
	leases    []*lease
	held      map[reservation]*[meters]int64
	raises    []*raise
	transfers []*transfer
	entries   map[entryName]*entry
}

var thresholds = []int{50, 80, 90, 100}

func newModel() *model {
	return &model{held: map[reservation]*[meters]int64{}, entries: map[entryName]*entry{}}
}

// covering returns the budgets that a job counts for.
func (m *model) covering(j *job) (list []*budget) {
	for _, b := range m.budgets {
		if (b.product == "" || b.product == j.product) && (b.phase == "" || b.phase == j.phase) && (b.job == ids.Nil || b.job == j.id) {
			list = append(list, b)
		}
	}
	return list
}

// refused returns the budget that has too little left for a job, nil where each has enough.
func (m *model) refused(j *job) *budget {
	for _, b := range m.covering(j) {
		if b.refuses(m.day) {
			return b
		}
	}
	return nil
}

// claim gives a job to an agent. It returns the hard budget that had too little left for it.
func (m *model) claim(j *job, epoch int64, by *agent) *budget {
	short := m.refused(j)
	l := &lease{leaseName: leaseName{j.id, epoch}, job: j, by: by, claimed: m.day, lasts: true}
	m.leases = append(m.leases, l)
	for _, b := range m.covering(j) {
		p, h := b.open(m.day), &[meters]int64{}
		for _, meter := range []int{money, tokens} {
			if p.limit[meter] != nil {
				h[meter] = b.slice[meter]
				p.reserved[meter] += b.slice[meter]
			}
		}
		p.settled[runs]++
		m.held[reservation{l.leaseName, b, b.begins(m.day)}] = h
	}
	return short
}

// end ends a lease, and reports whether it had reserved anything.
func (m *model) end(l *lease) bool {
	l.lasts = false
	had := false
	for r, h := range m.held {
		if r.lease == l.leaseName {
			m.free(r, h)
			had = true
		}
	}
	return had
}

func (m *model) free(r reservation, h *[meters]int64) {
	p := r.of.periods[r.day]
	for meter := range meters {
		p.reserved[meter] -= h[meter]
	}
	delete(m.held, r)
}

// remove takes a budget away, and frees what leases have reserved of it.
func (m *model) remove(b *budget) {
	for r, h := range m.held {
		if r.of == b {
			m.free(r, h)
		}
	}
	m.budgets = slices.DeleteFunc(m.budgets, func(o *budget) bool { return o == b })
	m.removed = append(m.removed, b)
	m.raises = slices.DeleteFunc(m.raises, func(r *raise) bool { return r.of == b })
	m.transfers = slices.DeleteFunc(m.transfers, func(t *transfer) bool { return t.from == b || t.to == b })
}

// charge is what an entry was raised by.
type charge struct {
	under  leaseName
	day    int
	amount [meters]int64
}

// told is an entry in a report.
type told struct {
	entryName
	by            *lease
	day           int
	nanos, tokens int64
}

// record keeps what a report says, and returns the charges in their order: entries that
// were not there come first.
func (m *model) record(report []told) []charge {
	var order []*told
	merged := map[entryName]*told{}
	for _, t := range report {
		if before := merged[t.entryName]; before != nil {
			before.nanos, before.tokens = max(before.nanos, t.nanos), max(before.tokens, t.tokens)
			continue
		}
		merged[t.entryName] = &t
		order = append(order, &t)
	}
	var first, raised []charge
	for _, t := range order {
		known := m.entries[t.entryName]
		if known == nil {
			m.entries[t.entryName] = &entry{t.nanos, t.tokens, t.by.leaseName}
			first = append(first, charge{t.by.leaseName, t.day, [meters]int64{t.nanos, t.tokens}})
			continue
		}
		more := [meters]int64{max(t.nanos-known.nanos, 0), max(t.tokens-known.tokens, 0)}
		known.nanos, known.tokens = known.nanos+more[money], known.tokens+more[tokens]
		raised = append(raised, charge{known.under, t.day, more})
	}
	return slices.DeleteFunc(append(first, raised...), func(c charge) bool { return c.amount == [meters]int64{} })
}

// settle settles charges, first out of what their leases have reserved; leases that last
// reserve more, as far as money is left. It reports thresholds that are reached.
func (m *model) settle(charges []charge) {
	for _, c := range charges {
		for _, b := range m.covering(m.lease(c.under).job) {
			b.open(c.day)
		}
	}
	before := m.standing()
	for _, c := range charges {
		l := m.lease(c.under)
		for _, b := range m.covering(l.job) {
			p := b.open(c.day)
			r := reservation{c.under, b, b.begins(c.day)}
			h := m.held[r]
			for _, meter := range []int{money, tokens} {
				p.settled[meter] += c.amount[meter]
				if h != nil {
					used := min(c.amount[meter], h[meter])
					h[meter] -= used
					p.reserved[meter] -= used
				}
			}
			if !l.lasts || b.begins(c.day) != b.begins(m.day) {
				continue
			}
			if h == nil {
				h = &[meters]int64{}
				m.held[r] = h
			}
			b.topUp(p, h)
		}
	}
	m.tell(before)
}

// topUp reserves another slice for a lease that has less than half of one.
func (b *budget) topUp(p *period, h *[meters]int64) {
	for _, meter := range []int{money, tokens} {
		free, limited := p.free(meter)
		if limited && h[meter] < b.slice[meter]/2 && (!b.hard || free >= b.slice[meter]) {
			h[meter] += b.slice[meter]
			p.reserved[meter] += b.slice[meter]
		}
	}
}

// standing returns the thresholds at which the periods are.
func (m *model) standing() map[*period]map[int]bool {
	at := map[*period]map[int]bool{}
	for _, b := range m.budgets {
		for _, p := range b.periods {
			at[p] = p.reached(thresholds)
		}
	}
	return at
}

// tell reports the thresholds that periods have come to.
func (m *model) tell(before map[*period]map[int]bool) {
	for _, b := range m.budgets {
		for _, p := range b.periods {
			for at := range p.reached(thresholds) {
				if !before[p][at] {
					p.alerts[at] = true
				}
			}
		}
	}
}

// wake lets leases that were warned reserve more.
func (m *model) wake() {
	var list []charge
	warned := slices.DeleteFunc(slices.Clone(m.leases), func(l *lease) bool { return !l.lasts || !l.warned })
	slices.SortFunc(warned, func(a, b *lease) int { return slices.Compare(a.leaseName.job[:], b.leaseName.job[:]) })
	for _, l := range warned {
		list = append(list, charge{under: l.leaseName, day: m.day})
	}
	m.settle(list)
}

func (m *model) lease(name leaseName) *lease {
	return m.leases[slices.IndexFunc(m.leases, func(l *lease) bool { return l.leaseName == name })]
}

// limits gives the present period of a budget other limits than it had, and reports whether it
// has more left.
func (m *model) limits(b *budget, limit [meters]*int64) (roomier bool) {
	p := b.open(m.day)
	for meter := range meters {
		was, now := p.limit[meter], limit[meter]
		if now != nil && b.limit[meter] != nil {
			had := int64(0)
			if was != nil {
				had = *was
			}
			now = new(max(had+*now-*b.limit[meter], 0))
		}
		if was != nil && (now == nil || *now > *was) {
			roomier = true
		}
		p.limit[meter] = copied(now)
	}
	b.limit = limit
	p.forget()
	return roomier
}

// expire takes back the raises that have ended, as far as they are free.
func (m *model) expire() {
	slices.SortStableFunc(m.raises, func(a, b *raise) int {
		return cmp.Or(slices.Compare(a.of.id[:], b.of.id[:]), cmp.Compare(a.until, b.until), cmp.Compare(a.line, b.line))
	})
	for _, r := range m.raises {
		p := r.of.periods[r.day]
		free, limited := p.free(money)
		if r.until > 0 && r.until <= m.day && r.day == r.of.begins(m.day) && limited && free > 0 {
			m.takeBack(r, min(r.left, free))
		}
	}
}

func (m *model) takeBack(r *raise, amount int64) {
	r.of.periods[r.day].give(-amount)
	r.left -= amount
}
