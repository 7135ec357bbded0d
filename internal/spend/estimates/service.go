package estimates

import (
	"context"
	"errors"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// settle is how long ago a job has to have ended before it is history: what is reported
	// late, such as the last usage of an agent, is in there then.
	settle = 2 * time.Minute
	// sweepBatch bounds how many jobs of a workspace become history at once.
	sweepBatch = 500
	// compareOver is how many of the newest jobs are replayed for a comparison.
	compareOver = 1000
	// replayPage is how many jobs a replay reads at once.
	replayPage = 2000
)

// Service estimates by the history of a workspace.
type Service struct{ db *db.DB }

// New returns the service.
func New(d *db.DB) *Service { return &Service{db: d} }

// Of returns the estimate of a job. Forbidden to whoever may not read the board.
func (s *Service) Of(ctx context.Context, who tenancy.Principal, a Ask) (Estimate, error) {
	list, err := s.OfMany(ctx, who, []Ask{a})
	if err != nil {
		return Estimate{}, err
	}
	return list[0], nil
}

// EstimateTx returns the estimate of a job, in a transaction of whoever may read the board.
func EstimateTx(ctx context.Context, tx db.Tx, workspace ids.ID, a Ask) (Estimate, error) {
	found, err := groupsTx(ctx, tx, workspace, []Ask{a})
	if err != nil {
		return Estimate{}, err
	}
	return of(a, found[0]), nil
}

// OfMany returns the estimate of each ask, by one statement. Forbidden to whoever may not
// read the board.
func (s *Service) OfMany(ctx context.Context, who tenancy.Principal, asks []Ask) ([]Estimate, error) {
	if !who.Can(tenancy.ReadBoard) {
		return nil, fault.New(fault.Forbidden, "You may not see what jobs cost.")
	}
	// Many jobs of a list are of one group.
	at, distinct := map[key]int{}, []Ask(nil)
	for _, a := range asks {
		k := keys(a)[sameRepo]
		if _, known := at[k]; !known {
			at[k] = len(distinct)
			distinct = append(distinct, a)
		}
	}
	var found [][groups]group
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		found, err = groupsTx(ctx, tx, who.Workspace, distinct)
		return err
	})
	if err != nil {
		return nil, err
	}
	list := make([]Estimate, len(asks))
	for i, a := range asks {
		list[i] = of(a, found[at[keys(a)[sameRepo]]])
	}
	return list, nil
}

// Compared is a finished job: what it was expected to cost, by those that ended before it,
// and what it cost.
type Compared struct {
	Key     string // "" where the job was deleted
	EndedAt time.Time
	P50     spend.Nanos
	P90     spend.Nanos
	Actual  spend.Nanos
	Within  bool // 20 % of what it cost
}

// Compare replays the newest jobs of the history, and returns the last of them with how
// well they were estimated; the oldest comes first. Forbidden to whoever may not read the
// board.
func (s *Service) Compare(ctx context.Context, who tenancy.Principal, last int) ([]Compared, Accuracy, error) {
	if !who.Can(tenancy.ReadBoard) {
		return nil, Accuracy{}, fault.New(fault.Forbidden, "You may not see what jobs cost.")
	}
	var jobs []Finished
	var list []Compared
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		jobs, list, err = newestTx(ctx, tx, who.Workspace, compareOver)
		return err
	})
	if err != nil {
		return nil, Accuracy{}, err
	}
	r, found, from := NewReplay(), tally{}, max(len(list)-last, 0)
	for i, f := range jobs {
		if i >= from {
			a := f.ask()
			e := of(a, r.groups(a))
			found.add(e, f.Cost)
			list[i].P50, list[i].P90, list[i].Within = e.P50, e.P90, isWithin(e, f.Cost)
		}
		r.learn(f)
	}
	return list[from:], found.accuracy(), nil
}

// Extend takes jobs that ended some minutes ago into the history, a bounded number of
// each workspace, and returns how many it looked at.
func (s *Service) Extend(ctx context.Context) (total int, err error) {
	list, err := workspaces(ctx, s.db)
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, workspace := range list {
		failed = append(failed, s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			n, err := extendTx(ctx, tx, workspace, settle, sweepBatch)
			total += n
			return err
		}))
	}
	return total, errors.Join(failed...)
}

// Replayed is the replay of a workspace.
type Replayed struct {
	Workspace string // its address
	Result    Result
}

// ReplayAll replays the history of each workspace that has one, as it is stored.
func ReplayAll(ctx context.Context, d *db.DB) ([]Replayed, error) {
	list, err := workspaces(ctx, d)
	if err != nil {
		return nil, err
	}
	var all []Replayed
	for _, workspace := range list {
		one, err := replay(ctx, d, workspace)
		if err != nil {
			return nil, err
		}
		if one.Result.After.Jobs > 0 {
			all = append(all, one)
		}
	}
	return all, nil
}

func replay(ctx context.Context, d *db.DB, workspace ids.ID) (one Replayed, err error) {
	var page []Finished
	r, from := NewReplay(), place{}
	for more := true; more; more = len(page) == replayPage {
		err = d.In(ctx, db.Workspace(workspace), func(tx db.Tx) (err error) {
			if one.Workspace, err = slugTx(ctx, tx, workspace); err != nil {
				return err
			}
			page, from, err = pageTx(ctx, tx, workspace, from, replayPage)
			return err
		})
		if err != nil {
			return one, err
		}
		for _, f := range page {
			r.Add(f)
		}
	}
	one.Result = r.Result()
	return one, nil
}
