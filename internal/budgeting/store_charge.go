package budgeting

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
)

// settlement is what is settled of one period for one lease.
type settlement struct {
	amounts

	Job        ids.ID    `json:"job_id"`
	Epoch      int64     `json:"epoch"`
	Budget     ids.ID    `json:"budget_id"`
	Start      time.Time `json:"period_start"`
	MoreNanos  int64     `json:"more_nanos"`
	MoreTokens int64     `json:"more_tokens"`
	IsNew      bool      `json:"is_new"`

	parts []part // in the order in which they were charged; the amounts are their sums
}

// part is what is settled for one usage entry.
type part struct {
	amounts

	entry string
}

// amounts are what is settled out of what was reserved, and out of what was free.
type amounts struct {
	HeldNanos  int64 `json:"held_nanos"`
	HeldTokens int64 `json:"held_tokens"`
	FreeNanos  int64 `json:"free_nanos"`
	FreeTokens int64 `json:"free_tokens"`
	Unpriced   int64 `json:"unpriced"`
}

func (a amounts) takesHeld() bool { return a.HeldNanos > 0 || a.HeldTokens > 0 }

func (a amounts) takesFree() bool { return a.FreeNanos > 0 || a.FreeTokens > 0 || a.Unpriced != 0 }

// add settles an entry. One that changes nothing has no part.
func (s *settlement) add(entry string, a amounts) {
	if a == (amounts{}) {
		return
	}
	s.parts = append(s.parts, part{amounts: a, entry: entry})
	s.HeldNanos, s.HeldTokens = s.HeldNanos+a.HeldNanos, s.HeldTokens+a.HeldTokens
	s.FreeNanos, s.FreeTokens = s.FreeNanos+a.FreeNanos, s.FreeTokens+a.FreeTokens
	s.Unpriced += a.Unpriced
}

// isNothing reports whether there is nothing to write.
func (s *settlement) isNothing() bool {
	return !s.IsNew && len(s.parts) == 0 && s.MoreNanos == 0 && s.MoreTokens == 0
}

// settled is a settlement as it is written. Where it is of one entry, that is named; where it is
// of several, the places are those of its parts among the entries of all, from 1.
type settled struct {
	*settlement

	Entry    string `json:"entry"`
	HeldFrom int    `json:"held_from"`
	HeldTo   int    `json:"held_to"`
	FreeFrom int    `json:"free_from"`
	FreeTo   int    `json:"free_to"`
}

// settleTx writes settlements, of which no two have the same lease and period.
func settleTx(ctx context.Context, tx db.Tx, workspace ids.ID, rows []*settlement) error {
	p := dbsqlc.BudgetSettleParams{WorkspaceID: workspace, JobIds: make([]ids.ID, len(rows)), Entries: []string{}, EntryNanos: []int64{},
		EntryTokens: []int64{}, EntryUnpriced: []int64{}}
	add := func(entry string, nanos, tokens, unpriced int64) {
		p.Entries, p.EntryNanos = append(p.Entries, entry), append(p.EntryNanos, nanos)
		p.EntryTokens, p.EntryUnpriced = append(p.EntryTokens, tokens), append(p.EntryUnpriced, unpriced)
	}
	written := make([]settled, len(rows))
	for i, r := range rows {
		p.JobIds[i], written[i].settlement = r.Job, r
		if len(r.parts) == 1 {
			written[i].Entry = r.parts[0].entry
		}
		if len(r.parts) < 2 {
			continue
		}
		written[i].HeldFrom = len(p.Entries) + 1
		for _, one := range r.parts {
			if one.takesHeld() {
				add(one.entry, one.HeldNanos, one.HeldTokens, 0)
			}
		}
		written[i].HeldTo, written[i].FreeFrom = len(p.Entries), len(p.Entries)+1
		for _, one := range r.parts {
			if one.takesFree() {
				add(one.entry, one.FreeNanos, one.FreeTokens, one.Unpriced)
			}
		}
		written[i].FreeTo = len(p.Entries)
	}
	var err error
	if p.Settlements, err = json.Marshal(written); err != nil {
		return fmt.Errorf("encode settlements: %w", err)
	}
	return q.BudgetSettle(ctx, tx, p)
}

// reservedTx reads what the leases of jobs have reserved and not used.
func reservedTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) (map[reservationKey]*held, error) {
	rows, err := q.BudgetReservations(ctx, tx, workspace, jobs)
	if err != nil {
		return nil, err
	}
	reserved := make(map[reservationKey]*held, len(rows))
	for _, r := range rows {
		key := reservationKey{spend.Lease{Job: r.JobID, Epoch: r.Epoch}, r.BudgetID, r.PeriodStart.UTC()}
		reserved[key] = &held{nanos: spend.Nanos(r.HeldNanos), tokens: r.HeldTokens, warned: r.Warned}
	}
	return reserved, nil
}

// lastingTx returns those of the leases that last, and now do until the transaction ends. It
// waits for nobody: one that is ending has ended.
func lastingTx(ctx context.Context, tx db.Tx, workspace ids.ID, leases []spend.Lease) (map[spend.Lease]bool, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	in, epochs := spend.SplitLeases(leases)
	rows, err := q.BudgetLeasesHold(ctx, tx, workspace, in, epochs)
	if err != nil {
		return nil, err
	}
	lasting := make(map[spend.Lease]bool, len(rows))
	for _, r := range rows {
		lasting[spend.Lease{Job: r.JobID, Epoch: r.Epoch}] = true
	}
	return lasting, nil
}

// fireTx notes a threshold, and reports whether it was not known.
func fireTx(ctx context.Context, tx db.Tx, workspace ids.ID, f crossing) (bool, error) {
	fired, err := q.BudgetAlertFire(ctx, tx, workspace, f.threshold, []ids.ID{f.budget.id}, []time.Time{f.start})
	if err != nil {
		return false, err
	}
	return len(fired) > 0, nil
}

// warnedTx returns the leases whose holders a budget has warned, as charges of nothing.
func warnedTx(ctx context.Context, tx db.Tx, workspace ids.ID, most int) ([]spend.Charge, error) {
	rows, err := q.LeasesWarnedByBudget(ctx, tx, workspace, most)
	return db.Map(rows, err, func(r dbsqlc.LeasesWarnedByBudgetRow) spend.Charge {
		return spend.Charge{Lease: spend.Lease{Job: r.JobID, Epoch: r.Epoch}, At: r.Now}
	})
}
