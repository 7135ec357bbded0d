package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/batch"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// maxCostlyLeases is how many leases that are not the agent's, or whose jobs start, a
// heartbeat in a batch may name: the others of the batch wait for it.
const maxCostlyLeases = 16

// beatCall is a heartbeat, and who sends it.
type beatCall struct {
	who tenancy.Principal
	in  Heartbeat
}

// batches reports whether a heartbeat may be one of a batch: it locks no factory, is
// short, and the database takes its words.
func (c beatCall) batches() bool {
	if c.in.Factory != nil || !isPlain(c.in.BootID) {
		return false
	}
	for _, l := range c.in.Leases {
		p := l.progress()
		if !isPlain(l.Job) || len(p.Checkpoint) > 0 || p.Step != nil && !isPlain(*p.Step) {
			return false
		}
	}
	return true
}

// lockHeartbeat waits for the locks of one heartbeat: its factory, its agent, the jobs
// that it starts, its leases.
func (s *Service) lockHeartbeat(ctx context.Context, tx db.Tx, _ ids.ID, c beatCall) error {
	if c.in.Factory != nil {
		if err := c.describeFactoryTx(ctx, tx, s.jobs); err != nil {
			return err
		}
	}
	if err := q.AgentWait(ctx, tx, dbsqlc.AgentWaitParams{WorkspaceID: c.who.Workspace, AgentID: c.who.Agent}); err != nil {
		return fmt.Errorf("lock agent: %w", err)
	}
	var starting []string
	for _, l := range c.in.Leases {
		if l.says() {
			starting = append(starting, l.Job)
		}
	}
	named, err := jobsByName(ctx, tx, c.who.Workspace, starting)
	if err != nil {
		return err
	}
	return lockLeases(ctx, tx, c.who, named, named, true)
}

// execHeartbeats answers the heartbeats of many agents.
func (s *Service) execHeartbeats(ctx context.Context, tx db.Tx, workspace ids.ID, items []*batch.Item[beatCall, HeartbeatResult]) (func(),
	error) {
	b := &beatBatch{leaseReports: leaseReports{ctx: ctx, tx: tx, s: s, workspace: workspace, alone: items[0].Alone}}
	for _, i := range items {
		b.all = append(b.all, &beatItem{beatCall: i.Req})
	}
	if err := b.exec(); err != nil {
		return nil, err
	}
	for at, h := range b.all {
		items[at].Res, items[at].Err = h.answer, h.err
		if h.retry {
			items[at].Retry()
		}
	}
	return b.notify, nil
}

// beatBatch is the heartbeats of one transaction.
type beatBatch struct {
	leaseReports
	all []*beatItem
}

// beatItem is one of the heartbeats.
type beatItem struct {
	beatCall

	agent        dbsqlc.AgentsBeatRow
	known        []dbsqlc.AgentsBeatRow // its leases
	withProgress []*reportItem          // what it says of them
	unknown      []*reportItem          // the leases that it lists and does not have

	answer HeartbeatResult
	err    error
	retry  bool
}

func (b *beatBatch) exec() error {
	for _, step := range []func() error{b.renew, b.sortLeases, b.writeProgress, b.refuseUnknown} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, h := range b.open() {
		h.result()
	}
	return nil
}

// open are the heartbeats of which it is not known yet what becomes of them.
func (b *beatBatch) open() []*beatItem {
	return slices.DeleteFunc(slices.Clone(b.all), func(h *beatItem) bool { return h.err != nil || h.retry })
}

// renew writes the signs of life and extends the leases. The second heartbeat of an
// agent in a batch is answered after the first one.
func (b *beatBatch) renew() error {
	params := dbsqlc.AgentsBeatParams{WorkspaceID: b.workspace}
	byAgent := map[ids.ID]*beatItem{}
	for _, h := range b.all {
		if byAgent[h.who.Agent] != nil {
			h.retry = true
			continue
		}
		byAgent[h.who.Agent] = h
		h.appendTo(&params)
	}
	rows, err := q.AgentsBeat(b.ctx, b.tx, params)
	if err != nil {
		return fmt.Errorf("heartbeats: %w", err)
	}
	for _, row := range rows {
		h := byAgent[row.AgentID]
		h.agent = row
		if row.JobID != ids.Nil {
			h.known = append(h.known, row)
		}
	}
	for _, h := range b.open() {
		missing := h.agent.AgentID == ids.Nil // locked, or not there
		switch {
		case missing && !b.alone, h.agent.Busy:
			h.retry = true
		case !h.agent.Heard:
			h.err = superseded(h.who.Name)
		}
	}
	return nil
}

func (c beatCall) appendTo(p *dbsqlc.AgentsBeatParams) {
	memory, load := int32(-1), float32(-1)
	if c.in.MemoryMB != nil {
		memory = int32(*c.in.MemoryMB) //nolint:gosec // checked
	}
	if c.in.CPUPercent != nil {
		load = float32(*c.in.CPUPercent)
	}
	p.Ids, p.BootIds, p.Generations = append(p.Ids, c.who.Agent), append(p.BootIds, c.who.Boot), append(p.Generations, c.who.Generation)
	p.Statuses = append(p.Statuses, cmp.Or(c.in.Status, "idle"))
	p.MemoryMb, p.CpuPercent = append(p.MemoryMb, memory), append(p.CpuPercent, load)
}

// sortLeases tells the leases that the agents list and have from those that they do
// not have.
func (b *beatBatch) sortLeases() error {
	var refs []string
	for _, h := range b.open() {
		if starts := h.sortLeases(); !b.alone && starts+len(h.unknown) > maxCostlyLeases {
			h.retry = true
			continue
		}
		for _, t := range h.unknown {
			refs = append(refs, t.ref.Job)
		}
	}
	named, err := jobsByName(b.ctx, b.tx, b.workspace, refs)
	if err != nil {
		return err
	}
	for _, h := range b.open() {
		for _, t := range h.unknown {
			if job, ok := named[t.ref.Job]; ok {
				t.job, t.refused = job, true
			} else {
				t.err = noSuchJob(t.ref.Job)
			}
		}
	}
	return nil
}

// sortLeases sorts what the heartbeat lists, and counts the jobs that it starts. A
// lease that is named twice is one, of which the later entry holds.
func (h *beatItem) sortLeases() (starts int) {
	said := map[ids.ID]*reportItem{}
	for _, l := range h.in.Leases {
		t := &reportItem{who: h.who, ref: Ref{Job: l.Job, Epoch: l.Epoch},
			report: report{Progress: l.progress(), starts: l.says(), isProgress: l.says()}}
		at := slices.IndexFunc(h.known, l.is)
		if at < 0 {
			h.unknown = append(h.unknown, t)
			continue
		}
		k := h.known[at]
		if !l.says() {
			continue
		}
		if earlier := said[k.JobID]; earlier != nil {
			earlier.Progress = earlier.and(t.Progress)
			continue
		}
		t.job, t.key, t.percent, t.step = k.JobID, k.Key, k.ProgressPercent, k.CurrentStep
		if t.begins = jobs.Status(k.Status) == jobs.Assigned; t.begins {
			starts++
		}
		said[k.JobID] = t
		h.withProgress = append(h.withProgress, t)
	}
	return starts
}

// is reports whether the lease is the one that the server knows.
func (l HeartbeatLease) is(known dbsqlc.AgentsBeatRow) bool {
	return known.Epoch == l.Epoch && (known.Key == l.Job || known.JobID.String() == l.Job)
}

// writeProgress writes what is said of the leases: all that one heartbeat says, or
// nothing of it.
func (b *beatBatch) writeProgress() error {
	if err := b.prepare(b.progress()); err != nil {
		return err
	}
	b.markRetries(func(h *beatItem) []*reportItem { return h.withProgress })
	if err := b.write(b.progress()); err != nil {
		return err
	}
	for _, t := range b.progress() {
		if t.refused {
			return fmt.Errorf("a lease on %s that was extended has ended", t.key)
		}
	}
	return nil
}

func (b *beatBatch) progress() []*reportItem {
	var all []*reportItem
	for _, h := range b.open() {
		all = append(all, h.withProgress...)
	}
	return all
}

// markRetries marks the heartbeats of which a part has to wait for a lock.
func (b *beatBatch) markRetries(part func(*beatItem) []*reportItem) {
	for _, h := range b.open() {
		h.retry = slices.ContainsFunc(part(h), func(t *reportItem) bool { return t.retry })
	}
}

// refuseUnknown says why the leases that agents list and do not have are not theirs.
func (b *beatBatch) refuseUnknown() error {
	var all []*reportItem
	for _, h := range b.open() {
		all = append(all, h.unknown...)
	}
	if err := b.explainRefusals(all); err != nil {
		return err
	}
	for _, t := range all {
		if t.refused && !t.retry && !fault.From(t.err).Code.Conflict() {
			return t.err
		}
	}
	b.markRetries(func(h *beatItem) []*reportItem { return h.unknown })
	return nil
}

// result fills in the answer to a heartbeat that was written.
func (h *beatItem) result() {
	h.answer = HeartbeatResult{Now: h.agent.Now, IntervalSeconds: int(h.agent.HeartbeatIntervalSeconds)}
	slices.SortFunc(h.known, func(x, y dbsqlc.AgentsBeatRow) int { return cmp.Compare(x.Key, y.Key) })
	for _, l := range h.known {
		h.answer.Leases = append(h.answer.Leases, LeaseStatus{Job: l.Key, Epoch: l.Epoch, Reason: l.DirectiveReason,
			Directive: directiveOr(l.Directive, unasked(h.agent.Draining)), ExpiresAt: timePtr(l.ExpiresAt), Answer: l.Answer})
	}
	for _, t := range h.unknown {
		h.answer.Leases = append(h.answer.Leases, LeaseStatus{Job: t.ref.Job, Epoch: t.ref.Epoch, Directive: Fenced,
			Reason: string(fault.From(t.err).Code)})
	}
}
