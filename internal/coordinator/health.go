package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
)

// maxNamed bounds the agents that one line of the log names.
const maxNamed = 1000

// healthWatch remembers until when the fleet was looked at, by the database's
// clock. It begins with the last cycle of the leader before, so that no death in
// between is missed.
type healthWatch struct {
	since *time.Time
}

// death is an agent that died, as the log tells it.
type death struct {
	Agent           string    `json:"agent"`
	Factory         string    `json:"factory"`
	LastHeartbeatAt time.Time `json:"last_heartbeat_at"`
}

// lookAtHealth finds agents that became late, stale or dead since the last look:
// pages are drawn again, and a death is written down. It returns how many died.
// Their jobs are the reaper's. Heartbeats that come cost nothing here.
func (t *term) lookAtHealth(ctx context.Context) (int, error) {
	var workspaces []ids.ID
	var now time.Time
	err := t.db.InSystem(ctx, func(tx db.Tx) (err error) {
		if now, err = q.JobClock(ctx, tx); err != nil || t.health.since == nil {
			return err
		}
		workspaces, err = q.AgentHealthCrossings(ctx, tx, dbsqlc.AgentHealthCrossingsParams{Since: *t.health.since, Until: now})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("health of agents: %w", err)
	}
	died := 0
	var failed error
	for _, w := range workspaces {
		n, err := t.recordDeaths(ctx, w, now)
		died, failed = died+n, errors.Join(failed, err)
		t.wake.Publish(fleet.Topic(w))
	}
	if failed == nil {
		t.health.since = &now
	}
	return died, failed
}

// recordDeaths writes one line about the agents of a workspace that died.
func (t *term) recordDeaths(ctx context.Context, workspace ids.ID, until time.Time) (int, error) {
	var died []death
	err := t.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
		rows, err := q.AgentDeaths(ctx, tx, dbsqlc.AgentDeathsParams{WorkspaceID: workspace, Since: *t.health.since,
			Until: until, MaxRows: maxNamed})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			died = append(died, death{Agent: r.Name, Factory: r.Factory, LastHeartbeatAt: r.LastHeartbeatAt})
		}
		message := fmt.Sprintf("%s of %s is dead: no heartbeat came in time.", died[0].Agent, died[0].Factory)
		if len(died) > 1 {
			message = fmt.Sprintf("%d agents are dead: no heartbeat came in time.", len(died))
		}
		return t.line(ctx, tx, &workspace, levelWarning, message, map[string][]death{"agents": died})
	})
	if err != nil {
		return 0, fmt.Errorf("deaths of agents: %w", err)
	}
	return len(died), nil
}
