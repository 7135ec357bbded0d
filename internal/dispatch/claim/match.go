package claim

import (
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/budgeting"
	"github.com/fleetboard/fleetboard/internal/dispatch/decision"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/offer"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// maxMatchRounds is how often a batch looks again that has lost jobs to claims of other servers.
	maxMatchRounds = 4
	// maxMatchLanes is how many lanes a batch looks into, those with the most urgent jobs.
	maxMatchLanes = 256
	// maxMatchRows is how many jobs it looks at in all lanes together, and maxOffered how many more
	// in a lane than its claims may take, since the first may be offered to others.
	maxMatchRows, maxOffered = 8192, 200
	// maxPassed is how many jobs of a lane it offers to others at most, and glance how many more than
	// its claims may take it looks at first.
	maxPassed, glance = 16, 2
	// maxStanding is how many offers of a workspace are taken into account.
	maxStanding = 1000
)

// matcher gives jobs in mode targeted, and notes the offers that this makes and ends.
type matcher struct {
	*claimBatch

	made  []offer.Made
	ended []offer.Offer // before their time, or taken
}

// matching is one look of a batch at the ready jobs in mode targeted, where a job goes to a factory
// that suits it best, if it has a seat, before others that ask.
type matching struct {
	*matcher

	claims   []*claimItem
	open     map[*claimItem]map[int64]bool // lanes whose products give something now
	queue    map[int64][]*candidate        // in the order of their lanes
	standing []*candidate                  // those that are offered to somebody, in their order
	table    *offer.Table
	picks    []pick

	// closely is set where all is read anew; else the factories may be as they were a moment ago, and
	// few more jobs are looked at than are wanted.
	closely bool
	more    bool // there were more jobs
}

// candidate is a ready job that may be given or offered.
type candidate struct {
	lane int64
	readyKey
	offer.Ready

	gone bool // it was picked
}

// pick is a job that a claim is to get.
type pick struct {
	*candidate

	claim    *claimItem
	turn     competitor
	decision decision.Decision
}

// outOfTurn is of a job that counts for no product's turn.
var outOfTurn = competitor{weight: 1}

// match takes jobs out of the queue for claims, each for a factory that suits it best or, where none
// comes first, for whoever asks. Jobs that somebody was passed over for are offered.
func (m *matcher) match(claims []*claimItem) error {
	lost := map[ids.ID]bool{}
	for range maxMatchRounds {
		look, err := m.look(claims, lost, false)
		if err == nil && look != nil && look.needsCloserLook() {
			look.putBack()
			look, err = m.look(claims, lost, true)
		}
		if err != nil || look == nil {
			return err
		}
		before := len(lost)
		if err := look.take(lost); err != nil {
			return err
		}
		if len(lost) == before {
			return look.offer()
		}
	}
	for _, c := range claims {
		c.Res.again = len(c.taken) == 0
	}
	return nil
}

// look picks jobs for the claims that have seats left, without those that others have taken
// meanwhile; nil where there is nothing.
func (m *matcher) look(claims []*claimItem, lost map[ids.ID]bool, closely bool) (*matching, error) {
	k := &matching{matcher: m, closely: closely, open: map[*claimItem]map[int64]bool{}, queue: map[int64][]*candidate{}}
	wanted := 0
	served := map[int64]bool{}
	for _, c := range claims {
		if len(c.taken) >= c.reserved {
			continue
		}
		k.claims = append(k.claims, c)
		wanted += c.reserved - len(c.taken)
		k.open[c] = map[int64]bool{}
		heads := m.headsFor(c, m.ready)
		for _, h := range heads {
			k.open[c][h.lane], served[h.lane] = true, true
		}
		forgetIdle(m.claimBatch, c, m.ready)
	}
	var lanes []int64
	for _, h := range m.ready {
		if served[h.lane] && len(lanes) < maxMatchLanes {
			lanes = append(lanes, h.lane)
		}
	}
	if len(lanes) == 0 {
		return nil, nil //nolint:nilnil // nothing is ready for them
	}
	if err := k.read(lanes, wanted, lost); err != nil {
		return nil, err
	}
	for _, c := range k.claims {
		k.give(c)
	}
	return k, nil
}

// needsCloserLook reports whether a claim is to be passed over, or a job offered, by what may have
// changed a moment ago, or whether a claim found too few jobs among the first ones.
func (m *matching) needsCloserLook() bool {
	if m.closely {
		return false
	}
	for _, queue := range m.queue {
		for _, j := range queue {
			_, makes := m.table.Makes(j.Ready)
			_, stands := m.table.Stands(j.job)
			if m.table.Kept && !j.gone && (makes || !stands && j.standsStill()) {
				return true
			}
		}
	}
	passed := m.table.Kept && slices.ContainsFunc(m.standing, func(j *candidate) bool { return !j.gone })
	return (passed || m.more) && slices.ContainsFunc(m.claims, func(c *claimItem) bool { return m.left(c) > 0 })
}

// standsStill reports whether the time of the job's offer is not over.
func (c *candidate) standsStill() bool { return c.Last != nil && c.Last.Turn > 0 && c.Last.Stands > 0 }

// left is how many jobs a claim may still be given.
func (m *matching) left(c *claimItem) int {
	n := c.reserved - len(c.taken)
	for _, p := range m.picks {
		if p.claim == c {
			n--
		}
	}
	return n
}

// putBack counts what was picked as not given.
func (m *matching) putBack() {
	for _, p := range m.picks {
		m.s.strides.takeBack(m.workspace, p.priority, p.turn, 1)
	}
}

// read reads the first jobs of the lanes, those that are offered, and how the factories are.
func (m *matching) read(lanes []int64, wanted int, lost map[ids.ID]bool) error {
	share := max(1, maxMatchRows/len(lanes))
	from := make([]readyKey, 0, len(lanes))
	for _, id := range lanes {
		from = append(from, m.scanFrom(id))
	}
	passed, rows := maxPassed, min(wanted+maxOffered, share)
	if !m.closely {
		passed, rows = glance, min(wanted+glance, share)
	}
	var first, standing []*candidate
	err := m.tx.Pipeline(m.ctx, func(tx db.Tx) (err error) {
		first, err = readFirst(m.ctx, tx, m.workspace, lanes, from, rows)
		return err
	}, func(tx db.Tx) (err error) {
		standing, err = readStanding(m.ctx, tx, m.workspace)
		return err
	})
	if err != nil {
		return err
	}
	byJob := map[ids.ID]*candidate{}
	var list []ids.ID
	note := func(c *candidate) {
		if byJob[c.job] == nil && !lost[c.job] {
			byJob[c.job], list = c, append(list, c.job)
		}
	}
	for _, c := range standing {
		note(c)
	}
	looked, found := map[int64]int{}, map[int64]int{}
	for _, c := range first {
		found[c.lane]++
		m.more = m.more || found[c.lane] == rows
		if byJob[c.job] == nil && looked[c.lane] < min(wanted+passed, share) {
			looked[c.lane]++
			note(c)
		}
	}
	return m.describe(byJob, list)
}

// describe reads what is to be known of the candidates, and of the factories.
func (m *matching) describe(byJob map[ids.ID]*candidate, list []ids.ID) error {
	asking := make([]decision.Asker, 0, len(m.claims))
	for _, c := range m.claims {
		asking = append(asking, c.toAsker())
	}
	jobs, snapshot, unpriced, err := m.compared.compare(list, asking, !m.closely)
	if err != nil {
		return err
	}
	last, err := offer.LastTx(m.ctx, m.tx, m.workspace, list)
	if err != nil {
		return err
	}
	var standing []offer.Ready
	for _, c := range byJob {
		j, known := jobs[c.job]
		if !known || j.Lane != c.lane {
			continue // it was changed at this moment
		}
		c.Ready = offer.Ready{Job: j}
		if l, offered := last[c.job]; offered && l.Version == j.Version {
			if c.Last = l.Last; c.standsStill() {
				standing = append(standing, c.Ready)
			}
		}
		m.queue[c.lane] = append(m.queue[c.lane], c)
	}
	m.table = offer.NewTable(snapshot, offer.NewTerms(m.settings.Settings), standing, excludes(unpriced))
	for _, queue := range m.queue {
		slices.SortFunc(queue, func(x, y *candidate) int { return x.compare(y.readyKey) })
		for _, c := range queue {
			if _, stands := m.table.Stands(c.job); stands {
				m.standing = append(m.standing, c)
			}
		}
	}
	slices.SortFunc(m.standing, func(x, y *candidate) int { return x.compare(y.readyKey) })
	for _, c := range m.items {
		for range c.taken {
			snapshot.Take(c.agent.Factory, c.agent.ID)
		}
	}
	return nil
}

// excludes returns what says that a budget keeps a job from an agent although it keeps not all of the
// product; nil where none does.
func excludes(held *budgeting.Unpriced) func(decision.Agent, decision.Job) bool {
	if held == nil {
		return nil
	}
	return func(a decision.Agent, j decision.Job) bool {
		if len(held.Without(a.User, j.ProductID)) == 0 {
			return false
		}
		_, kept := held.FindHolder(j.ProductID, j.Phase, j.ID)
		return kept
	}
}

// give picks jobs for a claim: first those that are offered to its factory, then the most urgent ones
// that go to it, of as urgent ones by the turns of their products.
func (m *matching) give(c *claimItem) {
	left := c.reserved - len(c.taken)
	for _, j := range m.standing {
		to, _ := m.table.Stands(j.job)
		if left > 0 && to == c.agent.Factory && !j.gone && m.open[c][j.lane] && !c.mustLeave(j.Ready) {
			m.pick(c, j, outOfTurn)
			left--
		}
	}
	for left > 0 {
		var heads []head
		for lane := range m.open[c] {
			if j := m.next(c, lane); j != nil {
				heads = append(heads, head{lane: lane, readyKey: j.readyKey})
			}
		}
		if len(heads) == 0 {
			return
		}
		sortHeads(heads)
		for _, t := range m.planTurns(c, heads, left) {
			rest := t.jobs
			for range t.jobs {
				j := m.next(c, t.lane)
				if j == nil || j.priority < t.least {
					break
				}
				left--
				if j.priority == t.priority {
					rest--
					m.pick(c, j, t.competitor)
				} else {
					m.pick(c, j, outOfTurn)
				}
			}
			m.s.strides.takeBack(m.workspace, t.priority, t.competitor, rest)
		}
	}
}

// next returns the first job of a lane that goes to a claim, nil where none does.
func (m *matching) next(c *claimItem, lane int64) *candidate {
	for _, j := range m.queue[lane] {
		if !j.gone && !c.mustLeave(j.Ready) && m.table.Judge(j.Ready).GoesTo(c.agent.Factory) {
			return j
		}
	}
	return nil
}

// mustLeave reports whether a budget keeps a job from the agent of a claim, since a model that it may
// run has no price, and notes by which.
func (c *claimItem) mustLeave(j offer.Ready) bool {
	models := c.unpricedIn(j.ProductID)
	if len(models) == 0 {
		return false
	}
	h, held := c.unpriced.FindHolder(j.ProductID, j.Phase, j.ID)
	if held {
		c.hold(h, models)
	}
	return held
}

func (m *matching) pick(c *claimItem, j *candidate, turn competitor) {
	j.gone = true
	compared, by := m.table.Give(j.Ready, c.agent.Factory, c.agent.ID)
	m.picks = append(m.picks, pick{j, c, turn, decision.New(j.Job, c.agent.Factory, by, compared)})
}

// take takes the picked jobs out of the queue, and notes those that others were taking.
func (m *matching) take(lost map[ids.ID]bool) error {
	if len(m.picks) == 0 {
		return nil
	}
	taken, err := takeMatched(m.ctx, m.tx, m.workspace, m.picks)
	if err != nil {
		return err
	}
	for _, p := range m.picks {
		if !taken[p.job] {
			lost[p.job] = true
			m.s.strides.takeBack(m.workspace, p.priority, p.turn, 1)
			continue
		}
		p.claim.taken = append(p.claim.taken, p.job)
		m.compared.found = append(m.compared.found, p.decision)
		m.end(p.candidate)
	}
	return nil
}

// end notes that the offer of a job has ended, where it stood.
func (m *matching) end(j *candidate) {
	if j.standsStill() {
		m.ended = append(m.ended, offer.Offer{Workspace: m.workspace, Job: j.job, Version: int64(j.Version),
			FactoryID: j.Last.FactoryID, Factory: j.Last.Factory, ExpiresAt: j.Last.ExpiresAt})
	}
}

// offer offers the jobs that somebody was passed over for, and that nobody took.
func (m *matching) offer() error {
	var list []offer.Made
	before := map[ids.ID]*candidate{}
	for _, queue := range m.queue {
		for _, j := range queue {
			if made, makes := m.table.Makes(j.Ready); makes && !j.gone {
				list = append(list, made)
				before[j.job] = j
			}
		}
	}
	m.noteStanding()
	slices.SortFunc(list, func(x, y offer.Made) int { return slices.Compare(x.Job[:], y.Job[:]) })
	written, err := offer.WriteTx(m.ctx, m.tx, m.workspace, list)
	if err != nil {
		return err
	}
	m.hasWrites = m.hasWrites || len(written) > 0
	m.made = written
	for _, made := range written {
		m.end(before[made.Job])
		if made.Turn > 0 {
			m.note(made.Factory, before[made.Job].Ready, lease.Offered{ExpiresAt: made.ExpiresAt, Score: made.Score})
		}
	}
	return nil
}

// noteStanding tells claims what is offered to their factories and was not taken.
func (m *matching) noteStanding() {
	for _, j := range m.standing {
		if to, _ := m.table.Stands(j.job); !j.gone {
			m.note(to, j.Ready, lease.Offered{ExpiresAt: j.Last.ExpiresAt, Score: j.Last.Score})
		}
	}
}

// note tells the claims of a factory that a job is offered to it, as far as they serve its lane.
func (m *matching) note(factory string, j offer.Ready, o lease.Offered) {
	o.Job = j.Key
	for _, c := range m.claims {
		if _, served := c.products[j.Lane]; served && c.agent.Factory == factory {
			c.Res.claimed.Offers = append(c.Res.claimed.Offers, o)
		}
	}
}

// notify wakes the factories that were offered something, after the commit, and has the next ones
// woken when the offers have ended.
func (m *matcher) notify() {
	var topics []string
	for _, o := range m.made {
		m.s.endings.await(m.workspace, o.Lasts)
		if o.Turn > 0 {
			topics = append(topics, offer.Topic(m.workspace, o.FactoryID))
		}
	}
	slices.Sort(topics)
	m.s.effects.Wake(slices.Compact(topics)...)
	if m.s.announcer == nil {
		return
	}
	if len(m.ended) > 0 {
		m.s.announcer.Ended(m.ctx, m.ended)
	}
	var offered []offer.Offer
	for _, o := range m.made {
		if o.Turn > 0 {
			offered = append(offered, o.Offer)
		}
	}
	if len(offered) > 0 {
		m.s.announcer.Offered(m.ctx, offered)
	}
}
