package coordinator

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// QueueHours is how many hours Queue returns.
	QueueHours = 24
	// markEvery is how often an hour is marked. The hour is the database's: our clock may be that much
	// before or behind it.
	markEvery = 15 * time.Minute
	// markLate is how long after its beginning an hour may not be marked yet.
	markLate = markEvery + 2*time.Minute
)

// QueueHour is what the queue of a workspace did in an hour. Of an hour in which no server was
// at work nothing is known.
type QueueHour struct {
	Begins time.Time
	Known  bool
	Ready  int64 // jobs that were ready at its end, or are now
	Claims int64
	Ends   int64 // of leases
	// P50 and P95 are how long the jobs that were claimed had been ready; zero where there were none.
	P50, P95 time.Duration
}

// queueRow is a number of one hour, or the present depth.
type queueRow struct {
	Hour time.Time
	Kind string
	Step int
	N    int64
}

// Queue returns what the queue did in the last hours, the oldest first; the last has just begun.
// It is as of the last time that changes were summed up, some seconds ago. Fault: Forbidden unless
// who may read the board.
func (s *Service) Queue(ctx context.Context, who tenancy.Principal) (list []QueueHour, err error) {
	if !who.Can(tenancy.ReadBoard) {
		return nil, fault.New(fault.Forbidden, "Only members read what the queue did.")
	}
	var rows []queueRow
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		rows, err = queueHoursTx(ctx, tx, who.Workspace, hoursAround(time.Now()))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("queue by hour: %w", err)
	}
	return buildHours(rows), nil
}

// hoursAround returns the hours that may be the last ones by the database's clock, which may be before
// or behind ours.
func hoursAround(now time.Time) []time.Time {
	hours := make([]time.Time, QueueHours+2)
	for i := range hours {
		hours[i] = now.UTC().Truncate(time.Hour).Add(time.Duration(1-i) * time.Hour)
	}
	return hours
}

// buildHours makes the hours of their numbers. How many jobs were ready follows from how many are now,
// backwards.
func buildHours(rows []queueRow) []QueueHour {
	var now time.Time
	var depth int64
	for _, r := range rows {
		if r.Kind == "depth" {
			now, depth = r.Hour, r.N
		}
	}
	first := now.UTC().Truncate(time.Hour).Add(-(QueueHours - 1) * time.Hour)
	list := make([]QueueHour, QueueHours)
	changes, leases, waits := [QueueHours]int64{}, [QueueHours]int64{}, [QueueHours]map[int]int64{}
	for _, r := range rows {
		i := int(r.Hour.Sub(first) / time.Hour)
		if r.Kind == "depth" || r.Hour.Before(first) || i >= QueueHours {
			continue
		}
		list[i].Known = true
		switch r.Kind {
		case "ready":
			changes[i] = r.N
		case "leases":
			leases[i] = r.N
		case "waited":
			if waits[i] == nil {
				waits[i] = map[int]int64{}
			}
			waits[i][r.Step] += r.N
			list[i].Claims += r.N
		}
	}
	for i := QueueHours - 1; i >= 0; i-- {
		h := &list[i]
		h.Begins, h.Ready = first.Add(time.Duration(i)*time.Hour), depth
		h.Ends = max(h.Claims-leases[i], 0)
		h.P50, h.P95 = percentile(waits[i], h.Claims, 0.5), percentile(waits[i], h.Claims, 0.95)
		depth -= changes[i]
	}
	if last := &list[QueueHours-1]; now.Sub(last.Begins) < markLate {
		last.Known = last.Known || list[QueueHours-2].Known
	}
	return list
}

// lastStep is the last of the steps of wait_step.
const lastStep = 100

// percentile returns the wait that a part of n waits, which are counted by step, do not exceed.
func percentile(byStep map[int]int64, n int64, part float64) time.Duration {
	left := int64(math.Ceil(part * float64(n)))
	for step := 0; step <= lastStep && left > 0; step++ {
		if left -= byStep[step]; left <= 0 {
			return stepWait(step)
		}
	}
	return 0
}

// stepWait returns the middle of the waits that a step stands for.
func stepWait(step int) time.Duration {
	if step == 0 {
		return 50 * time.Millisecond
	}
	return time.Duration(0.1 * math.Pow(2, (float64(step)-0.5)/4) * float64(time.Second))
}

// markHours returns a cycle that notes for each workspace, some times an hour, that a coordinator is
// at work: an hour in which nothing happened is told from one in which no server ran.
func (t *term) markHours(clock func() time.Time) func(context.Context) error {
	var began time.Time
	marked := map[ids.ID]bool{}
	return func(ctx context.Context) error {
		if now := clock().Truncate(markEvery); !now.Equal(began) {
			began = now
			clear(marked)
		}
		workspaces, err := allWorkspaces(ctx, t.db)
		if err != nil {
			return err
		}
		var failed error
		for _, w := range workspaces {
			if marked[w] {
				continue
			}
			if err := t.db.In(ctx, db.Workspace(w), func(tx db.Tx) error { return markHourTx(ctx, tx, w) }); err != nil {
				failed = errors.Join(failed, fmt.Errorf("mark an hour of the queue: %w", err))
				continue
			}
			marked[w] = true
		}
		return failed
	}
}
