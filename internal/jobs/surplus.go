package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// settleBatch is how many jobs a change of a product moves at once, each way, and
// settleRounds how often it does so.
const (
	settleBatch  = 200
	settleRounds = 5
)

// HoldSurplus puts to waiting, in one workspace and at most 200 in each call, jobs
// that are ready although only one job of their repo may be and that one has its
// slot: what was ready before the product said so. It returns how many. Where the
// slot is free the most urgent one gets it and stays ready.
func (s *Service) HoldSurplus(ctx context.Context, workspace ids.ID) (int, error) {
	var list []ids.ID
	err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) (err error) {
		list, err = q.SlotSurplus(ctx, tx, dbsqlc.SlotSurplusParams{WorkspaceID: workspace, MaxRows: settleBatch})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("ready jobs without a slot: %w", err)
	}
	who := tenancy.System(workspace, "admission")
	held := 0
	var failed error
	for _, id := range list {
		job, err := s.Change(ctx, who, func(tx db.Tx) (Job, error) { return admitAgainTx(ctx, tx, who, id) })
		if job.Status == Waiting && err == nil {
			held++
		}
		failed = errors.Join(failed, err)
	}
	return held, failed
}

// admitAgainTx asks of a ready job, as though it became so now, whether its repo's
// slot can be its own, and holds it where not.
func admitAgainTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID) (Job, error) {
	locked, err := LockTx(ctx, tx, who.Workspace, id.String())
	if err != nil || locked.Status != Ready {
		return locked.Job, err
	}
	if err := WithdrawTx(ctx, tx, who.Workspace, locked); err != nil {
		return Job{}, err
	}
	a := admission{ctx: ctx, tx: tx, workspace: who.Workspace}
	busy, err := a.busy([]*Job{&locked.Job})
	if err != nil {
		return Job{}, err
	}
	if !busy[id] {
		return locked.Job, a.takeSlots()
	}
	d, err := locked.Hold(WaitRepoBusy)
	if err != nil {
		return Job{}, err
	}
	return SaveTx(ctx, tx, who, d)
}

// settle moves the jobs of a workspace to where its products' settings want them,
// at most 1,000 each way. What stays ready for the sweep may be claimed beside
// another job of its repo, so few are left to it.
func (s *Service) settle(ctx context.Context, workspace ids.ID) error {
	for range settleRounds {
		held, err := s.HoldSurplus(ctx, workspace)
		if err != nil {
			return err
		}
		freed, err := s.promoteFreed(ctx, workspace)
		if err != nil || held+freed == 0 {
			return err
		}
	}
	return nil
}

// promoteFreed makes jobs claimable that a setting or a repo held and holds no
// more, at most settleBatch. It returns how many.
func (s *Service) promoteFreed(ctx context.Context, workspace ids.ID) (int, error) {
	var list []ids.ID
	err := s.db.InWorkspace(ctx, workspace, func(tx db.Tx) (err error) {
		list, err = HeldFreedTx(ctx, tx, workspace, settleBatch)
		return err
	})
	if err != nil {
		return 0, err
	}
	who := tenancy.System(workspace, "admission")
	freed := 0
	var failed error
	for _, id := range list {
		job, err := s.promoteOne(ctx, who, id)
		if job.Status == Ready && err == nil {
			freed++
		}
		failed = errors.Join(failed, err)
	}
	return freed, failed
}

// PromoteTx makes one waiting job claimable, or says what it waits for now. It returns
// the job before and after; changed is false where it waits for the same as before.
func PromoteTx(ctx context.Context, tx db.Tx, who tenancy.Principal, id ids.ID) (before, after Job, changed bool, err error) {
	locked, err := LockTx(ctx, tx, who.Workspace, id.String())
	if err != nil {
		return Job{}, Job{}, false, err
	}
	open, err := DependencyOpenTx(ctx, tx, who.Workspace, id)
	if err != nil {
		return Job{}, Job{}, false, fmt.Errorf("dependencies of %s: %w", locked.Key, err)
	}
	d, ok := locked.Promote(locked.Now, open)
	if !ok {
		return locked.Job, locked.Job, false, nil
	}
	saved, err := SaveTx(ctx, tx, who, d)
	if err != nil {
		return Job{}, Job{}, false, err
	}
	return locked.Job, saved, saved.Version != locked.Version, nil
}

// promoteOne is PromoteTx in a transaction of its own.
func (s *Service) promoteOne(ctx context.Context, who tenancy.Principal, id ids.ID) (Job, error) {
	return s.Change(ctx, who, func(tx db.Tx) (Job, error) {
		_, after, _, err := PromoteTx(ctx, tx, who, id)
		return after, err
	})
}

// slotsOfProductTx gives the slots of a product's repos to the jobs that are worked
// on, or gives up all where it allows many jobs in a repo.
func slotsOfProductTx(ctx context.Context, tx db.Tx, workspace ids.ID, p Product) error {
	if !p.OneJobPerRepo {
		err := q.SlotClear(ctx, tx, dbsqlc.SlotClearParams{WorkspaceID: workspace, ProductID: p.ID})
		if err != nil {
			return fmt.Errorf("give up slots: %w", err)
		}
		return nil
	}
	worked, err := q.SlotWorked(ctx, tx, dbsqlc.SlotWorkedParams{WorkspaceID: workspace, ProductID: p.ID})
	if err != nil {
		return fmt.Errorf("jobs that are worked on: %w", err)
	}
	list := make([]*Job, 0, len(worked))
	for _, w := range worked {
		list = append(list, &Job{ID: w.ID, Repo: w.Repo, OneJobPerRepo: true})
	}
	a := admission{ctx: ctx, tx: tx, workspace: workspace}
	if _, err := a.busy(list); err != nil {
		return err
	}
	return a.takeSlots()
}

func productPayload(p Product) json.RawMessage {
	raw, err := json.Marshal(map[string]any{"product": p.Name})
	if err != nil {
		return nil
	}
	return raw
}
