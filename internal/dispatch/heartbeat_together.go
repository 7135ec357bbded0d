package dispatch

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// costlyLeases is how many leases that are not the agent's, or whose jobs start, a
// heartbeat may name and still be written together with others: they would wait
// for it.
const costlyLeases = 16

// beatCall is a heartbeat, and who sends it.
type beatCall struct {
	who tenancy.Principal
	in  Beat
}

// combines reports whether a heartbeat may be written together with others: it
// locks no factory, is short, and is sure to be taken by the database.
func (c beatCall) combines() bool {
	if c.in.Factory != nil || !isPlain(c.in.BootID) {
		return false
	}
	named := map[string]bool{}
	for _, l := range c.in.Leases {
		p := l.progress()
		if named[l.Job] || !isPlain(l.Job) || len(p.Checkpoint) > 0 || p.check() != nil || p.Step != nil && !isPlain(*p.Step) {
			return false
		}
		named[l.Job] = true
	}
	return true
}

// beatTogether answers the heartbeats of many agents in one transaction.
func (s *Service) beatTogether(ctx context.Context, workspace ids.ID, list []*request[beatCall, BeatAnswer], patient bool) error {
	if patient {
		one := list[0]
		one.out, one.err = s.beatAlone(ctx, one.in)
		return nil
	}
	var run *beatRun
	err := s.scope(patient)(ctx, workspace, func(tx db.Tx) error {
		run = &beatRun{tellings: tellings{ctx: ctx, tx: tx, s: s, workspace: workspace}}
		for _, r := range list {
			run.all = append(run.all, &heard{beatCall: r.in})
		}
		return run.run()
	})
	if err != nil {
		return err
	}
	if run.told {
		s.published(workspace, nil, run.started...)
		s.keepBudgets(ctx, workspace, budgeted(run.started))
	}
	for i, h := range run.all {
		list[i].out, list[i].err, list[i].apart = h.answer, h.err, h.apart
	}
	return nil
}

// beatRun is the heartbeats of one transaction.
type beatRun struct {
	tellings
	all []*heard
}

// heard is one of the heartbeats.
type heard struct {
	beatCall

	agent    dbsqlc.AgentsBeatRow
	known    []dbsqlc.AgentsBeatRow // its leases
	speaking []*telling             // what it says of them
	strange  []*telling             // the leases that it lists and does not have

	answer BeatAnswer
	err    error
	apart  bool
}

func (r *beatRun) run() error {
	for _, step := range []func() error{r.beat, r.listen, r.tellAll, r.fence} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, h := range r.open() {
		h.stand()
	}
	return nil
}

// open are the heartbeats of which it is not known yet what becomes of them.
func (r *beatRun) open() []*heard {
	return slices.DeleteFunc(slices.Clone(r.all), func(h *heard) bool { return h.err != nil || h.apart })
}

// beat writes the signs of life and extends the leases. The second heartbeat of an
// agent in a run is answered after the first one.
func (r *beatRun) beat() error {
	params := dbsqlc.AgentsBeatParams{WorkspaceID: r.workspace}
	byAgent := map[ids.ID]*heard{}
	for _, h := range r.all {
		if byAgent[h.who.Agent] != nil {
			h.apart = true
			continue
		}
		byAgent[h.who.Agent] = h
		h.appendTo(&params)
	}
	rows, err := q.AgentsBeat(r.ctx, r.tx, params)
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
	for _, h := range r.open() {
		switch {
		case h.agent.AgentID == ids.Nil, h.agent.Busy:
			h.apart = true // it is locked, or not there
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

// listen tells the leases that the agents list and have from those they do not
// have.
func (r *beatRun) listen() error {
	var refs []string
	for _, h := range r.open() {
		h.sort()
		for _, t := range h.strange {
			refs = append(refs, t.ref.Job)
		}
	}
	named, err := r.named(refs)
	if err != nil {
		return err
	}
	for _, h := range r.open() {
		for _, t := range h.strange {
			if job, ok := named[t.ref.Job]; ok {
				t.job, t.refused = job, true
			} else {
				t.err = noSuchJob(t.ref.Job)
			}
		}
	}
	return nil
}

// sort sorts what the heartbeat lists. One that names a lease twice, by key and by
// id, or would keep others waiting, is set apart.
func (h *heard) sort() {
	starts, seen := 0, map[ids.ID]bool{}
	for _, l := range h.in.Leases {
		t := &telling{who: h.who, ref: Ref{Job: l.Job, Epoch: l.Epoch},
			report: report{Progress: l.progress(), starts: l.says(), isProgress: l.says()}}
		at := slices.IndexFunc(h.known, l.is)
		if at < 0 {
			h.strange = append(h.strange, t)
			continue
		}
		k := h.known[at]
		h.apart = h.apart || seen[k.JobID]
		seen[k.JobID] = true
		if !l.says() {
			continue
		}
		t.job, t.key, t.percent, t.step = k.JobID, k.Key, k.ProgressPercent, k.CurrentStep
		if t.begins = jobs.Status(k.Status) == jobs.Assigned; t.begins {
			starts++
		}
		h.speaking = append(h.speaking, t)
	}
	h.apart = h.apart || starts+len(h.strange) > costlyLeases
}

// is reports whether the lease is the one that the server knows.
func (l BeatLease) is(known dbsqlc.AgentsBeatRow) bool {
	return known.Epoch == l.Epoch && (known.Key == l.Job || known.JobID.String() == l.Job)
}

// tellAll writes what is said of the leases: all that one heartbeat says, or
// nothing of it.
func (r *beatRun) tellAll() error {
	if err := r.prepare(r.spoken()); err != nil {
		return err
	}
	r.setApart(func(h *heard) []*telling { return h.speaking })
	if err := r.tell(r.spoken()); err != nil {
		return err
	}
	for _, t := range r.spoken() {
		if t.refused {
			return fmt.Errorf("a lease on %s that was extended has ended", t.key)
		}
	}
	return nil
}

func (r *beatRun) spoken() []*telling {
	var all []*telling
	for _, h := range r.open() {
		all = append(all, h.speaking...)
	}
	return all
}

// setApart sets the heartbeats apart of which a part is.
func (r *beatRun) setApart(part func(*heard) []*telling) {
	for _, h := range r.open() {
		h.apart = slices.ContainsFunc(part(h), func(t *telling) bool { return t.apart })
	}
}

// fence says why the leases that agents list and do not have are not theirs.
func (r *beatRun) fence() error {
	var all []*telling
	for _, h := range r.open() {
		all = append(all, h.strange...)
	}
	if err := r.refuse(all); err != nil {
		return err
	}
	for _, t := range all {
		if t.refused && !t.apart && !fault.From(t.err).Code.Conflict() {
			return t.err
		}
	}
	r.setApart(func(h *heard) []*telling { return h.strange })
	return nil
}

// stand is the answer to a heartbeat that was written.
func (h *heard) stand() {
	h.answer = BeatAnswer{Now: h.agent.Now, IntervalSeconds: int(h.agent.HeartbeatIntervalSeconds)}
	slices.SortFunc(h.known, func(x, y dbsqlc.AgentsBeatRow) int { return cmp.Compare(x.Key, y.Key) })
	for _, l := range h.known {
		h.answer.Leases = append(h.answer.Leases, Standing{Job: l.Key, Epoch: l.Epoch, Reason: l.DirectiveReason,
			Directive: directiveOr(l.Directive, unasked(h.agent.Draining)), ExpiresAt: later(l.ExpiresAt), Answer: l.Answer})
	}
	// As when it is written alone: what it says something of first, of each kind
	// what is not there, then the others by their jobs.
	slices.SortStableFunc(h.strange, func(x, y *telling) int { return slices.Compare(x.job[:], y.job[:]) })
	for _, says := range []bool{true, false} {
		for _, t := range h.strange {
			if t.starts == says {
				h.answer.Leases = append(h.answer.Leases, Standing{Job: t.ref.Job, Epoch: t.ref.Epoch, Directive: Fenced,
					Reason: string(fault.From(t.err).Code)})
			}
		}
	}
}
