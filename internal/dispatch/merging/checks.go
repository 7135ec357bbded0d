package merging

import (
	"context"
	"errors"
	"fmt"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// policy is what events name as who sends work back for its checks.
const policy = "policy"

// errForPerson is a merge of which a person has to decide.
var errForPerson = errors.New("a person decides")

// isRed reports whether the checks of a merge, or of its pull request, were red.
func (m openMerge) isRed() bool {
	return jobs.Status(m.MergeStatus) == jobs.Failed && jobs.FailureKind(m.FailureKind) == jobs.FailedChecks
}

// sendBack sends work whose checks were red back to its agent, in a product that has its work verified and as
// long as there are rounds left: they are those of verifiers, too. It is false where a person has to decide.
func (s *Service) sendBack(ctx context.Context, workspace ids.ID, m openMerge) (back bool, err error) {
	if !m.isRed() {
		return false, nil
	}
	_, err = s.jobs.Change(ctx, tenancy.System(workspace, policy), func(tx db.Tx) (jobs.Job, error) {
		return sendBackTx(ctx, tx, workspace, m)
	})
	if errors.Is(err, errForPerson) || fault.Is(err, fault.NotFound) || fault.Is(err, fault.InvalidTransition) {
		return false, nil
	}
	return err == nil, err
}

func sendBackTx(ctx context.Context, tx db.Tx, workspace ids.ID, m openMerge) (jobs.Job, error) {
	work, err := jobs.LockTx(ctx, tx, workspace, m.JobID.String())
	if err != nil {
		return jobs.Job{}, err
	}
	product, err := jobs.ProductByIDTx(ctx, tx, workspace, work.ProductID)
	if err != nil {
		return jobs.Job{}, err
	}
	rounds := *product.Verify.Rounds
	if work.Version != m.Version || product.Verify.Mode != jobs.VerifyByAgent || work.Round >= rounds {
		return jobs.Job{}, errForPerson
	}
	failed, err := work.FailMerge(short(m.LastError, actions.MaxReason))
	if err != nil {
		return jobs.Job{}, err
	}
	if _, err := jobs.SaveTx(ctx, tx, tenancy.System(workspace, loop), failed); err != nil {
		return jobs.Job{}, err
	}
	if err := q.JobMergeSendBack(ctx, tx, workspace, m.MergeJobID); err != nil {
		return jobs.Job{}, err
	}
	if work, err = jobs.LockTx(ctx, tx, workspace, m.JobID.String()); err != nil {
		return jobs.Job{}, err
	}
	d, err := work.Reject(m.feedback(work.Round, rounds))
	if err != nil {
		return jobs.Job{}, err
	}
	d.Payload["merge"], d.Payload["round"] = m.MergeKey, work.Round
	if err := q.AttemptReject(ctx, tx, workspace, work.ID, work.Epoch); err != nil {
		return jobs.Job{}, err
	}
	return jobs.SaveTx(ctx, tx, tenancy.System(workspace, policy), d)
}

// feedback returns what the agent is told whose work is sent back.
func (m openMerge) feedback(round, rounds int) string {
	what := "when " + m.Commit + " was merged"
	if m.MergeBy == jobs.MergeByPullRequest {
		what = "of the pull request of " + m.Commit
	}
	return fmt.Sprintf("The checks %s were red (round %d of %d). Make them pass.\n\n%s", what, round, rounds, m.LastError)
}
