package worker

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

// heartbeats reports again and again that the worker lives, and obeys what the server
// says of the leases, until ctx ends.
func (w *Worker) heartbeats(ctx context.Context) {
	every := time.NewTicker(w.Beat)
	defer every.Stop()
	for ctx.Err() == nil {
		if err := w.enrolled(ctx, func() error { return w.heartbeat(ctx) }); err != nil && ctx.Err() == nil {
			w.Log.Warn("a heartbeat failed: " + err.Error())
		}
		select {
		case <-every.C:
		case <-w.beatNow.C():
		case <-ctx.Done():
		}
	}
}

// heartbeat sends one of them.
func (w *Worker) heartbeat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(w.Beat, 5*time.Second))
	defer cancel()
	held := w.leases.all()
	status := api.HeartbeatStatusIdle
	switch {
	case len(held) > 0:
		status = api.HeartbeatStatusWorking
	case !w.offer.hasEngine():
		status = api.HeartbeatStatusBlocked
	}
	named := make([]api.ProgressReport, 0, len(held))
	files := takeTouched(held)
	for _, l := range held {
		one := api.ProgressReport{Job: l.job, Epoch: l.epoch}
		if list := files[l]; len(list) > 0 {
			one.FilesTouched = &list
		}
		named = append(named, one)
	}
	factory, version := w.offer.describe()
	body := api.Heartbeat{BootID: w.bootID, Status: status, Leases: &named, Factory: &factory}
	asked := w.leases.isAsking()
	sent := sinceBoot()
	answer, err := w.beats.HeartbeatWithResponse(ctx, w.Name, body)
	w.noteTouched(files, err)
	if err != nil {
		return err
	}
	w.offer.noteTold(version)
	if said := answer.JSON200; said != nil {
		if said.Token != nil {
			w.setToken(*said.Token)
		}
		w.obey(ctx, sent, said, asked)
	}
	return nil
}

// obey does what a heartbeat's answer wants, and gives back leases that nobody works on:
// those of a claim whose answer was lost.
func (w *Worker) obey(ctx context.Context, sent time.Duration, said *api.HeartbeatAnswer, asked bool) {
	// This comes before the look for a lease: a claim that ends in between holds what it brought.
	asked = asked || w.leases.isAsking()
	for _, s := range said.Leases {
		if l := w.leases.find(s.Job, s.Epoch); l != nil {
			if s.ExpiresAt != nil {
				l.extend(sent, s.ExpiresAt.Sub(said.Now))
			}
			l.obey(s.Directive, s.Reason)
			continue
		}
		if !asked && s.Directive != api.DirectiveFenced {
			w.giveBack(ctx, s.Job, s.Epoch)
		}
	}
}

// giveBack ends a lease that nobody works on.
func (w *Worker) giveBack(ctx context.Context, job string, epoch int64) {
	_, err := w.beats.ReleaseLeaseWithResponse(
		ctx,
		api.LeaseRelease{Job: job, Epoch: epoch, Reason: "The worker does not know of this attempt."},
	)
	if err != nil {
		w.Log.Warn("a lease that nobody works on could not be given back: "+err.Error(), "job", job, "epoch", epoch)
	}
}
