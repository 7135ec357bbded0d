package webhooks

import (
	"context"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// loopName is who the log names for what the loop does.
	loopName = "webhooks"
	// maxPending bounds the deliveries that are made ahead of what was delivered.
	maxPending = 500
	// fillBatch is how many events are read at a time.
	fillBatch = 100
)

// queued is an event that a webhook is to get.
type queued struct {
	seq   int64
	event eventlog.Event
	body  string
}

// fill makes deliveries of what follows a place in the log, which is the webhook's or such that nothing in
// between concerns it, at most fillBatch, and returns whether there may be more at once.
func (s *Service) fill(ctx context.Context, workspace, webhook ids.ID, from *sender, after eventlog.Cursor) (more bool, err error) {
	who := tenancy.System(workspace, loopName)
	list, to, err := s.events.TailFiltered(ctx, who, from.filter(), after, min(fillBatch, maxPending-from.pending))
	if err != nil {
		return false, fmt.Errorf("read the log for a webhook: %w", err)
	}
	if to == from.place {
		return false, nil
	}
	err = s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		wanted, err := s.wantedTx(ctx, tx, workspace, from, list)
		if err != nil {
			return err
		}
		made := make([]queued, len(wanted))
		for i, e := range wanted {
			made[i] = queued{seq: from.seq + int64(i) + 1, event: e}
			if made[i].body, err = encodeBody(workspace, made[i].seq, e); err != nil {
				return err
			}
		}
		_, err = addTx(ctx, tx, workspace, webhook, *from, made, to)
		return err
	})
	return err == nil, err
}

func (from *sender) filter() eventlog.Filter {
	if slices.Contains(from.types, everything) {
		return eventlog.Filter{}
	}
	return eventlog.Filter{Types: from.types}
}

// wantedTx leaves of events those of the products that a webhook names, where it names some.
func (s *Service) wantedTx(ctx context.Context, tx db.Tx, workspace ids.ID, from *sender, list []eventlog.Event) ([]eventlog.Event, error) {
	if len(from.products) == 0 || len(list) == 0 {
		return list, nil
	}
	jobs := []ids.ID{}
	for _, e := range list {
		if e.JobID != nil {
			jobs = append(jobs, *e.JobID)
		}
	}
	rows, err := q.WebhookJobs(ctx, tx, workspace, jobs)
	if err != nil {
		return nil, err
	}
	wanted := map[ids.ID]bool{}
	for _, r := range rows {
		wanted[r.ID] = slices.Contains(from.products, r.Product)
	}
	return slices.DeleteFunc(list, func(e eventlog.Event) bool { return e.JobID == nil || !wanted[*e.JobID] }), nil
}
