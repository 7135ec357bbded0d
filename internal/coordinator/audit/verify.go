package audit

import (
	"context"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// verifyPage is how many jobs Verify reads with their events in a statement.
const verifyPage = 50

// Verify replays every job of every workspace from its events and compares what
// they lead to with what is stored. An error means that it could not look at
// all of them; the report then holds what it saw.
func Verify(ctx context.Context, d *db.DB) (Report, error) {
	r := Report{Checks: []Check{
		{Name: "history", About: "each event of a job follows from those before it"},
		{Name: "state", About: "a job is what its events lead to"},
	}}
	err := r.walk(ctx, d, verifyPage, func(ctx context.Context, tx db.Tx, w workspace, after ids.ID) (int, ids.ID, error) {
		page, err := replaysTx(ctx, tx, w.ID, after)
		for _, h := range page {
			if h.err != nil {
				r.note("history", w.Slug, h.key, h.err.Error())
			} else {
				r.note("state", w.Slug, h.key, differences(h.stored, h.told))
			}
			after = h.id
		}
		return len(page), after, err
	})
	return r, err
}

// replayed is a job as it is stored, and as its events record it.
type replayed struct {
	history

	told jobs.State
	err  error // why the events give no state
}

// replaysTx reads a page of jobs and replays them.
func replaysTx(ctx context.Context, tx db.Tx, in, after ids.ID) ([]*replayed, error) {
	page, err := historiesTx(ctx, tx, in, after, verifyPage)
	if err != nil {
		return nil, err
	}
	list := make([]*replayed, 0, len(page))
	for _, h := range page {
		list = append(list, replay(h))
	}
	return list, fillTx(ctx, tx, in, list...)
}

func replay(h history) *replayed {
	r := &replayed{history: h, err: h.unreadable}
	if r.err == nil {
		r.told, r.err = jobs.Replay(h.events)
	}
	return r
}

// fillTx reads the contents of what the state still refers to after all events.
func fillTx(ctx context.Context, tx db.Tx, in ids.ID, list ...*replayed) error {
	var sums []string
	for _, h := range list {
		sums = append(sums, h.told.Contents()...)
	}
	contents, err := eventlog.ContentsTx(ctx, tx, in, sums)
	if err != nil {
		return err
	}
	for _, h := range list {
		if h.err == nil {
			h.told, h.err = h.told.Fill(contents)
		}
	}
	return nil
}

func differences(stored, told jobs.State) string {
	diff := stored.Diff(told)
	if len(diff) == 0 {
		return ""
	}
	return "the job and its events differ: " + strings.Join(diff, "; ")
}
