package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Rank is where a person wants a job: right before or right after another one, by key or id. The zero
// Rank is where waiting puts it.
type Rank struct{ Before, After string }

// maxRank is how many bytes a rank has at most: it grows by one with some eight jobs that are put into
// the same gap.
const maxRank = 1000

// spot is where a job stands among those as urgent: at a place, and by its rank among those there.
type spot struct {
	Place time.Time `json:"place"`
	Rank  []byte    `json:"rank"`
}

// Rank puts a job before or after another one of its product that is as urgent, for all claims from then
// on. A job that is not ready keeps its rank until it is. The rank ends with a change of the job's
// priority, with the job itself, and where it is cleared.
//
// Faults: NotFound; Validation; InvalidTransition for a job that is over; OtherOrder, with the detail
// "why", where the other one is of another product ("product"), not as urgent ("priority"), or neither
// ready nor ranked ("no_place").
func (s *Service) Rank(ctx context.Context, who tenancy.Principal, keyOrID string, r Rank) (Job, error) {
	return s.Change(ctx, who, func(tx db.Tx) (Job, error) { return rankTx(ctx, tx, who, keyOrID, r) })
}

// Step is a way to go in the order.
type Step string

// The steps.
const (
	ToTop Step = "top"
	Up    Step = "up"
	Down  Step = "down"
)

// Step ranks a ready job before the first job of its product that is as urgent, before the one that it
// follows, or after the one that follows it. A job that is there already stays, with its version.
func (s *Service) Step(ctx context.Context, who tenancy.Principal, keyOrID string, step Step) (Job, error) {
	return s.Change(ctx, who, func(tx db.Tx) (Job, error) {
		job, err := LoadTx(ctx, tx, who.Workspace, keyOrID)
		if err != nil {
			return Job{}, err
		}
		if job.Status != Ready {
			return Job{}, fault.New(fault.InvalidTransition, "%s is %s. Only ready jobs stand in an order.", job.Key, job.Status.Words()).
				With("status", string(job.Status))
		}
		near, err := neighboursTx(ctx, tx, who.Workspace, job)
		if err != nil {
			return Job{}, err
		}
		to := map[Step]ids.ID{ToTop: near.First, Up: near.Before, Down: near.After}[step]
		switch {
		case to == job.ID:
			return job, nil
		case step == Down:
			return rankTx(ctx, tx, who, job.ID.String(), Rank{After: to.String()})
		}
		return rankTx(ctx, tx, who, job.ID.String(), Rank{Before: to.String()})
	})
}

func rankTx(ctx context.Context, tx db.Tx, who tenancy.Principal, keyOrID string, r Rank) (Job, error) {
	if r.Before != "" && r.After != "" {
		return Job{}, fault.Invalid("after", "It must be left out where `before` is said.")
	}
	locked, err := LockTx(ctx, tx, who.Workspace, keyOrID)
	if err != nil {
		return Job{}, err
	}
	if locked.Status.Finished() {
		return Job{}, fault.New(fault.InvalidTransition, "%s is %s. It has no place in the order any more.",
			locked.Key, locked.Status.Words()).With("status", string(locked.Status))
	}
	if err := WithdrawTx(ctx, tx, who.Workspace, locked); err != nil {
		return Job{}, err
	}
	former, err := spotTx(ctx, tx, who.Workspace, locked.ID)
	if err != nil {
		return Job{}, err
	}
	payload := map[string]any{"former": former}
	if r == (Rank{}) {
		return saveRankTx(ctx, tx, who, locked.Job, nil, eventlog.JobRanked, payload)
	}
	at, other, err := r.spotTx(ctx, tx, who, locked)
	if err != nil {
		return Job{}, err
	}
	payload[r.side()] = other
	return saveRankTx(ctx, tx, who, locked.Job, &at, eventlog.JobRanked, payload)
}

// side returns the field that the rank has, and in the log the word for it.
func (r Rank) side() string {
	if r.After != "" {
		return "after"
	}
	return "before"
}

// spotTx returns where the rank puts a job, and the key of the other one.
func (r Rank) spotTx(ctx context.Context, tx db.Tx, who tenancy.Principal, job Locked) (spot, string, error) {
	anchor, err := anchorTx(ctx, tx, who.Workspace, r.Before+r.After)
	if err != nil {
		return spot{}, "", err
	}
	if anchor.ID == job.ID {
		return spot{}, "", fault.Invalid(r.side(), "It must be another job than the one that is ranked.")
	}
	own, err := anchorTx(ctx, tx, who.Workspace, job.ID.String())
	if err != nil {
		return spot{}, "", err
	}
	refuse := func(why, format string, args ...any) (spot, string, error) {
		return spot{}, "", fault.New(fault.OtherOrder, format, args...).With("why", why)
	}
	switch {
	case anchor.ProductID != own.ProductID:
		return refuse("product", "%s belongs to %s, %s to %s. Products get agents by their weights, each in an order of its own.",
			anchor.Key, anchor.Product, own.Key, own.Product)
	case anchor.Priority != own.Priority:
		return refuse("priority", "%s counts as priority %d, %s as %d. Jobs are ranked among those as urgent.",
			anchor.Key, anchor.Priority, own.Key, own.Priority)
	case !anchor.HasPlace:
		return refuse("no_place", "%s is not ready and nobody has ranked it, so that it has no place in the order yet.", anchor.Key)
	}
	low, high := anchor.TieBreak, anchor.TieBreak
	if r.Before != "" {
		low, err = rankBeforeTx(ctx, tx, who.Workspace, job.ID, anchor)
	} else {
		high, err = rankAfterTx(ctx, tx, who.Workspace, job.ID, anchor)
	}
	if err != nil {
		return spot{}, "", err
	}
	rank := append(between(low, high), job.ID[:]...)
	if len(rank) > maxRank {
		return refuse("no_place", "Too many jobs were put at this place of the order. Clear the ranks of some, or rank %s elsewhere.",
			job.Key)
	}
	return spot{Place: anchor.Place, Rank: rank}, anchor.Key, nil
}

// between returns the beginning of ranks after low and before high, whatever follows it; nil is before or
// after all. Low is less than high and no rank is the beginning of another one, as each ends with the
// id of its job.
func between(low, high []byte) []byte {
	bounded := high != nil
	var rank []byte
	for i := 0; ; i++ {
		least, most := 0, 256
		if i < len(low) {
			least = int(low[i])
		}
		if bounded && i < len(high) {
			most = int(high[i])
		}
		if middle := (least + most) / 2; middle > least {
			return append(rank, byte(middle))
		}
		rank = append(rank, byte(least))
		bounded = bounded && least == most
	}
}

// saveRankTx writes where a locked job is ranked, nil for nowhere, and returns the job.
func saveRankTx(
	ctx context.Context, tx db.Tx, who tenancy.Principal, job Job, at *spot, what eventlog.Type, payload map[string]any,
) (Job, error) {
	text, err := json.Marshal(payload)
	if err != nil {
		return Job{}, fmt.Errorf("encode the event of a rank: %w", err)
	}
	saved, err := writeRankTx(ctx, tx, who, job.ID, at, what, text)
	if err != nil {
		return Job{}, err
	}
	job.Version, job.UpdatedAt = saved.Version, saved.UpdatedAt
	return job, nil
}

// UndoRankTx puts a locked job back to where it was ranked before an act, the last one that changed it.
// InvalidTransition where that was long ago.
func UndoRankTx(ctx context.Context, tx db.Tx, who tenancy.Principal, l Locked, act Act) (Job, error) {
	if act.SavedAt == nil || l.Now.Sub(*act.SavedAt) > UndoFor {
		return Job{}, fault.New(fault.InvalidTransition, "%s was moved too long ago. Nothing was undone.", l.Key).
			With("status", string(l.Status))
	}
	var said struct {
		Former *spot `json:"former"`
	}
	if err := json.Unmarshal(act.Payload, &said); err != nil {
		return Job{}, fmt.Errorf("read the rank before: %w", err)
	}
	return saveRankTx(ctx, tx, who, l.Job, said.Former, eventlog.JobUndone, map[string]any{"undid": string(act.Type)})
}
