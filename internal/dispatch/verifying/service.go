package verifying

import (
	"context"
	"errors"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// loop is what events name as who decides.
	loop = "verifying"
	// atOnce bounds what one cycle does in a workspace.
	atOnce = 200
)

// Actor decides about jobs.
type Actor interface {
	Act(ctx context.Context, who tenancy.Principal, keyOrID string, a actions.Action) (jobs.Job, error)
}

// Service ends verifications.
type Service struct {
	db    *db.DB
	actor Actor
}

// New returns what ends the verifications of a database.
func New(d *db.DB, actor Actor) *Service { return &Service{db: d, actor: actor} }

// EndVerifications cancels the verify jobs whose work does not wait for a decision any more, or is other work
// by now, and closes the verifications whose jobs have ended, in all workspaces. It returns how many of
// these it did. A workspace that fails keeps no other from its turn.
func (s *Service) EndVerifications(ctx context.Context) (total int, err error) {
	list, err := workspaces(ctx, s.db)
	for _, workspace := range list {
		if ctx.Err() != nil {
			return total, errors.Join(err, ctx.Err())
		}
		n, failed := s.endInWorkspace(ctx, workspace)
		total, err = total+n, errors.Join(err, failed)
	}
	return total, err
}

func (s *Service) endInWorkspace(ctx context.Context, workspace ids.ID) (n int, err error) {
	list, err := s.listEnding(ctx, workspace)
	if err != nil {
		return 0, err
	}
	for _, v := range list {
		did, failed := s.end(ctx, workspace, v)
		if did {
			n++
		}
		err = errors.Join(err, failed)
	}
	return n, err
}

// end ends one verification. It reports false where somebody else has changed something meanwhile: the
// next cycle looks again.
func (s *Service) end(ctx context.Context, workspace ids.ID, v ending) (bool, error) {
	if jobs.Status(v.VerifyStatus).Finished() {
		return true, s.close(ctx, workspace, v.VerifyJobID)
	}
	why := "What it verifies was deleted."
	if v.Key != "" {
		why = "What it verifies does not wait for a decision any more, or is other work by now: " + v.Key + "."
	}
	_, err := s.actor.Act(ctx, tenancy.System(workspace, loop), v.VerifyKey, actions.Action{Verb: jobs.ByCancel, Reason: why})
	if f, refused := errors.AsType[*fault.Error](err); refused &&
		slices.Contains([]fault.Code{fault.InvalidTransition, fault.VersionConflict, fault.NotFound}, f.Code) {
		return false, nil
	}
	return err == nil, err
}
