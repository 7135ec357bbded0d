package preempt

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

var q = dbsqlc.New()

// workspace is one in which seats are asked for, or were; PreemptGap is 0 in the second case.
type workspace = dbsqlc.PreemptWorkspacesRow

func workspaces(ctx context.Context, tx db.Tx) ([]workspace, error) {
	return q.PreemptWorkspaces(ctx, tx)
}

// tryLockTx reports whether nobody else decides about a workspace's requests, until the transaction ends.
func tryLockTx(ctx context.Context, tx db.Tx, workspace ids.ID) (bool, error) {
	return q.PreemptTryLock(ctx, tx, workspace.String())
}

// request is one that stands. Held is set while the lease lasts that it is about, and Directed while its
// directive does; Gap is by how much the job is more urgent than the victim.
type request = dbsqlc.PreemptionsAskedRow

func readStandingTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]request, error) {
	return q.PreemptionsAsked(ctx, tx, workspace, maxStanding)
}

// urgent is a ready job with its own priority.
type urgent = dbsqlc.PreemptReadyRow

// readyTx reads the jobs for which seats could be asked, in the order of claims.
func readyTx(ctx context.Context, tx db.Tx, workspace ids.ID, gap int) ([]urgent, error) {
	return q.PreemptReady(ctx, tx, workspace, gap, maxOfLane, maxReady)
}

// victim is a running job whose agent could be asked, with its own priority.
type victim = dbsqlc.PreemptVictimsRow

// victimsTx reads the victims on seats of factories up to a priority, those that lose the least first.
func victimsTx(ctx context.Context, tx db.Tx, workspace ids.ID, factories []ids.ID, maxPriority int) ([]victim, error) {
	return q.PreemptVictims(ctx, tx, dbsqlc.PreemptVictimsParams{WorkspaceID: workspace, Factories: factories, MaxPriority: maxPriority,
		MaxSilence: maxSilence, SettledSeconds: StandsSeconds, MaxRows: maxVictims})
}

// askTx writes requests, and returns the victims of those that it wrote.
func askTx(ctx context.Context, tx db.Tx, workspace ids.ID, pairs []pair, gap int) ([]ids.ID, error) {
	p := dbsqlc.PreemptionsAskParams{WorkspaceID: workspace, Gap: gap, StandsSeconds: StandsSeconds}
	for _, one := range pairs {
		p.Victims, p.Epochs, p.Jobs = append(p.Victims, one.JobID), append(p.Epochs, one.Epoch), append(p.Jobs, one.job)
	}
	return q.PreemptionsAsk(ctx, tx, p)
}

// endTx writes the new states of requests, by their victims.
func endTx(ctx context.Context, tx db.Tx, workspace ids.ID, over map[ids.ID]state) error {
	var victims []ids.ID
	var states []string
	for id, s := range over {
		victims, states = append(victims, id), append(states, string(s))
	}
	return q.PreemptionsEnd(ctx, tx, workspace, victims, states)
}

// forgetTx deletes requests that say nothing any more; of a workspace without a gap all that ended.
func forgetTx(ctx context.Context, tx db.Tx, workspace ids.ID, gap int) error {
	_, err := q.PreemptionsForget(ctx, tx, workspace, gap == 0, maxForgotten)
	return err
}
