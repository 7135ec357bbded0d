package worker

import (
	"context"
	"errors"
	"os"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/engines/process"
	"github.com/fleetboard/fleetboard/internal/client/worker/outbox"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
)

// recovery goes on with what the process before this one left when it was killed: reports
// in the outbox are sent, attempts whose lease is still ours continue, and the work of the
// others goes into quarantine.
type recovery struct{ *Worker }

func (w recovery) run(ctx context.Context) error {
	w.clearSockets()
	reports, err := w.out.Pending()
	if err != nil {
		w.Log.Error("some reports cannot be read: " + err.Error())
	}
	left, err := remembered(w.State)
	if err != nil {
		return err
	}
	if len(reports)+len(left) == 0 {
		return nil
	}
	process.KillMarked(w.marker())
	reported := map[leaseID]bool{}
	for _, r := range reports {
		reported[leaseID{r.Job, r.Epoch}] = true
		w.sendLeft(ctx, r)
	}
	ours, err := w.stillOurs(ctx)
	if err != nil {
		return err
	}
	for _, j := range left {
		id := leaseID{j.Key, j.Lease.Epoch}
		switch l := ours[id]; {
		case reported[id]:
		case l != nil && (isOrdered(j.Job) || j.ProofCommand != nil):
			w.Log.Info("goes on with an attempt that was cut off", "job", j.Key, "epoch", id.epoch)
			w.goOnOrdered(ctx, j, l)
		case l != nil && w.leases.hold(l):
			w.Log.Info("goes on with an attempt that was cut off", "job", j.Key, "epoch", id.epoch)
			w.start(ctx, claimed{Job: j.Job, request: j.RequestID, lease: l}, true)
		default:
			w.Log.Warn("an attempt that was cut off is not ours any more", "job", j.Key, "epoch", id.epoch)
			w.clearAway(ctx, j.Job)
		}
	}
	return nil
}

// goOnOrdered goes on with a job of the system that was cut off, or one that is to be proved. Its order, and the
// command that proves it, are the server's to say: the claim is sent again under its id, which gives the same lease. Where it gives none
// the attempt goes on without an order, and gives the job back.
func (w recovery) goOnOrdered(ctx context.Context, j record, l *lease) {
	sent, ttl := sinceBoot(), int(w.Lease.Seconds())
	var answer *api.ClaimJobsResponse
	err := w.enrolled(ctx, func() (err error) {
		answer, err = w.api.ClaimJobsWithResponse(ctx, api.ClaimRequest{Job: &j.Key, RequestID: &j.RequestID, TTLSeconds: &ttl})
		return err
	})
	if err == nil {
		if taken := w.take(answer, sent, j.RequestID); len(taken) > 0 {
			c := taken[0]
			again := c.lease.epoch == l.epoch
			if again {
				c.Checkpoint = j.Checkpoint // what was written down is never older
			}
			w.start(ctx, c, again)
			return
		}
	}
	j.ProofCommand = nil // whoever could write to the file could give one
	w.Log.Warn("what was ordered is not to be had again", "job", j.Key, "epoch", l.epoch, "error", err)
	if w.leases.hold(l) {
		w.start(ctx, claimed{Job: j.Job, lease: l}, true)
	}
}

// sendLeft sends a report that was left in the outbox; its lease is held until then.
func (w recovery) sendLeft(ctx context.Context, r outbox.Report) {
	if r.Accepted {
		w.handOverLeft(ctx, r)
		return
	}
	l := newLease(r.Job, r.Epoch, sinceBoot()+w.Lease)
	if !w.leases.hold(l) {
		return
	}
	w.group.Go(func() {
		defer w.leases.letGo(l)
		tree, err := w.reopen(ctx, attemptForReport(r))
		if err == nil {
			err = w.newDelivery(r, tree).run(ctx)
		}
		if err == nil {
			err = os.RemoveAll(w.scratch(attemptForReport(r).Name()))
		}
		if err != nil {
			w.Log.Error("a report of before could not be dealt with: "+err.Error(), "job", r.Job, "epoch", r.Epoch)
		}
	})
}

// handOverLeft pushes the branch of a report that the server took before.
func (w recovery) handOverLeft(ctx context.Context, r outbox.Report) {
	at := attemptForReport(r)
	tree, err := w.Repos.Left(ctx, at)
	if err != nil {
		if !errors.Is(err, repos.ErrGone) {
			w.Log.Error("a branch of before could not be handed over: "+err.Error(), "job", r.Job, "epoch", r.Epoch)
			return
		}
		err = errors.Join(w.out.Remove(r), os.RemoveAll(w.scratch(at.Name())))
		if err != nil {
			w.Log.Error("a report of before stays: "+err.Error(), "job", r.Job, "epoch", r.Epoch)
		}
		return
	}
	w.pushes.Go(func() { w.newDelivery(r, tree).handOver(ctx) })
}

// reopen returns the worktree of an attempt, nil where it has none any more.
func (w recovery) reopen(ctx context.Context, a repos.Attempt) (*repos.Worktree, error) {
	if a.Repo == "" {
		return nil, nil
	}
	tree, err := w.Repos.Reopen(ctx, a)
	if errors.Is(err, repos.ErrGone) {
		return nil, nil
	}
	return tree, err
}

// stillOurs reads from the server which leases the worker holds.
func (w recovery) stillOurs(ctx context.Context) (map[leaseID]*lease, error) {
	sent := sinceBoot()
	answer, err := w.beats.HeartbeatWithResponse(
		ctx,
		w.Name,
		api.Heartbeat{BootID: w.bootID, Status: api.HeartbeatStatusWorking},
	)
	if err != nil {
		return nil, err
	}
	ours := map[leaseID]*lease{}
	for _, s := range answer.JSON200.Leases {
		if s.Directive == api.DirectiveFenced || s.ExpiresAt == nil {
			continue
		}
		l := newLease(s.Job, s.Epoch, sent+s.ExpiresAt.Sub(answer.JSON200.Now))
		l.obey(s.Directive, s.Reason)
		ours[leaseID{s.Job, s.Epoch}] = l
	}
	return ours, nil
}

// clearAway saves the work of an attempt that is not ours any more and puts it aside.
func (w recovery) clearAway(ctx context.Context, j api.Job) {
	at := attemptForJob(j, j.Lease.Epoch)
	tree, err := w.reopen(ctx, at)
	if err == nil && tree != nil {
		_, saved := tree.SaveWIP(ctx, "the worker was killed")
		err = errors.Join(saved, quarantine(ctx, tree))
	}
	if err == nil {
		err = os.RemoveAll(w.scratch(at.Name()))
	}
	if err != nil {
		w.Log.Error("what a killed attempt left could not be put aside: "+err.Error(), "job", j.Key)
	}
}
