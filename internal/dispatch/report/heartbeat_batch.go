package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
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
	if c.in.Factory != nil || !lease.IsPlain(c.in.BootID) {
		return false
	}
	for _, l := range c.in.Leases {
		p := l.progress()
		if !lease.IsPlain(l.Job) || len(p.Checkpoint) > 0 || p.Step != nil && !lease.IsPlain(*p.Step) {
			return false
		}
	}
	return true
}

// lockHeartbeat waits for the locks of one heartbeat: its factory, its agent, the jobs
// that it starts, its leases.
func (s *Service) lockHeartbeat(ctx context.Context, tx db.Tx, _ ids.ID, c beatCall) error {
	if c.in.Factory != nil {
		if err := s.enrolment.DescribeFactoryTx(ctx, tx, c.who, c.in.Factory.Defaults()); err != nil {
			return err
		}
	}
	if err := waitForAgent(ctx, tx, c.who); err != nil {
		return err
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
	return waitForLeases(ctx, tx, c.who, named, named, true)
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

	agent        beatAgent
	withProgress []*reportItem // what it says of its leases
	unknown      []*reportItem // the leases that it lists and does not have

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
		if err := h.result(); err != nil {
			return err
		}
	}
	return nil
}

// open returns the heartbeats of which it is not known yet what becomes of them.
func (b *beatBatch) open() []*beatItem {
	return slices.DeleteFunc(slices.Clone(b.all), func(h *beatItem) bool { return h.err != nil || h.retry })
}

// renew writes the signs of life and extends the leases. The second heartbeat of an
// agent in a batch is answered after the first one.
func (b *beatBatch) renew() error {
	var first []*beatItem
	seen := map[ids.ID]bool{}
	for _, h := range b.all {
		if h.retry = seen[h.who.Agent]; !h.retry {
			seen[h.who.Agent], first = true, append(first, h)
		}
	}
	agents, err := writeBeats(b.ctx, b.tx, b.workspace, first)
	if err != nil {
		return err
	}
	for _, h := range first {
		agent, found := agents[h.who.Agent] // not where it is locked, or not there
		h.agent = agent
		switch {
		case !found && !b.alone, agent.Busy:
			h.retry = true
		case !agent.Heard:
			h.err = lease.Superseded(h.who.Name)
		}
	}
	return nil
}

// sortLeases separates the leases that the agents list and have from those that they do
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
				t.err = lease.NoSuchJob(t.ref.Job)
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
		t := &reportItem{reportCall: reportCall{h.who, lease.Ref{Job: l.Job, Epoch: l.Epoch},
			report{Progress: l.progress(), starts: l.says(), isProgress: l.isProgress()}}}
		at := slices.IndexFunc(h.agent.leases, l.is)
		if at < 0 {
			h.unknown = append(h.unknown, t)
			continue
		}
		k := h.agent.leases[at]
		if !l.says() {
			continue
		}
		if earlier := said[k.JobID]; earlier != nil {
			earlier.Progress, earlier.isProgress = earlier.and(t.Progress), earlier.isProgress || t.isProgress
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
func (l HeartbeatLease) is(known beatLease) bool {
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
func (h *beatItem) result() error {
	h.answer = HeartbeatResult{Now: h.agent.Now, IntervalSeconds: h.agent.HeartbeatIntervalSeconds}
	slices.SortFunc(h.agent.leases, func(x, y beatLease) int { return cmp.Compare(x.Key, y.Key) })
	for _, l := range h.agent.leases {
		h.answer.Leases = append(h.answer.Leases, lease.Status{Job: l.Key, Epoch: l.Epoch, Reason: l.DirectiveReason,
			Directive: cmp.Or(l.Directive, lease.Unasked(h.agent.Draining)), ExpiresAt: &l.ExpiresAt, Answer: l.Answer})
	}
	for _, t := range h.unknown {
		h.answer.Leases = append(h.answer.Leases, lease.Status{Job: t.ref.Job, Epoch: t.ref.Epoch, Directive: lease.Fenced,
			Reason: string(fault.From(t.err).Code)})
	}
	return json.Unmarshal(h.agent.Offers, &h.answer.Offers)
}
