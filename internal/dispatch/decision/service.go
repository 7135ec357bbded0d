package decision

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// Retention is how long decisions are kept.
	Retention = 7 * 24 * time.Hour
	// MaxCounted is how many decisions Divergence counts: the newest.
	MaxCounted = 20_000
	// maxDecisions and maxExamples bound what is listed.
	maxDecisions, maxExamples = 50, 50
	// expireBatch is how many decisions one call of ExpireDecisions deletes at most.
	expireBatch = 5000
)

// Service reads decisions and deletes old ones.
type Service struct{ db *db.DB }

// NewService returns the decisions kept in d.
func NewService(d *db.DB) *Service { return &Service{d} }

// Decisions returns the decisions about a job, the newest first; none where factories are not
// compared. Fault: NotFound.
func (s *Service) Decisions(ctx context.Context, who tenancy.Principal, job string) (list []Decision, err error) {
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		j, err := jobs.LoadTx(ctx, tx, who.Workspace, job)
		if err != nil {
			return err
		}
		list, err = decisionsTx(ctx, tx, who.Workspace, j.ID)
		return err
	})
	return list, err
}

// Divergence is how often the factory that got a job was not the one that suited it best.
type Divergence struct {
	Since     time.Time     `json:"since"`
	Decisions int           `json:"decisions"` // counted, at most MaxCounted
	Classes   map[Class]int `json:"classes"`
	Examples  []Example     `json:"examples"` // the newest first
}

// Example is a decision in which they differ by more than a tie.
type Example struct {
	Job    string    `json:"job"`
	At     time.Time `json:"at"`
	Epoch  int64     `json:"epoch"`
	Pulled string    `json:"pulled"`
	Scored string    `json:"scored"`
	Class  Class     `json:"class"`
	Why    string    `json:"why"`
}

// Divergence counts the newest decisions since a time. Fault: Forbidden.
func (s *Service) Divergence(ctx context.Context, who tenancy.Principal, since time.Time) (d Divergence, err error) {
	if !who.Can(tenancy.Manage) {
		return d, fault.New(fault.Forbidden, "Only owners and admins see how jobs are given out.")
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		d, err = divergenceTx(ctx, tx, who.Workspace, since)
		return err
	})
	return d, err
}

// ExpireDecisions deletes, a bounded number in each call, decisions that are older than Retention. It
// returns how many.
func (s *Service) ExpireDecisions(ctx context.Context) (int, error) {
	var workspaces []ids.ID
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		workspaces, err = q.WorkspaceIDs(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	total := 0
	for _, workspace := range workspaces {
		err := s.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			n, err := q.DecisionExpire(ctx, tx, workspace, Retention.Seconds(), expireBatch-total)
			total += int(n)
			return err
		})
		if err != nil || total >= expireBatch {
			return total, err
		}
	}
	return total, nil
}
