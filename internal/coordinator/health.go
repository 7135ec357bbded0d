package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fleet"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// maxTold bounds the agents of a workspace that one look tells of.
const maxTold = 1000

// watcher is the loop that events name as what saw an agent's health change.
const watcher = "health"

// turn is a change of an agent's health, as the logs tell it.
type turn struct {
	Agent           string    `json:"agent"`
	Factory         string    `json:"factory"`
	LastHeartbeatAt time.Time `json:"last_heartbeat_at"`

	before, after fleet.Health
}

// event is the fact that the turn is; "" for one that only pages show.
func (t turn) event() eventlog.Type {
	gone := func(h fleet.Health) bool { return h == fleet.Stale || h == fleet.Dead }
	switch {
	case t.after == fleet.Dead:
		return eventlog.AgentDied
	case t.after == fleet.Stale:
		return eventlog.AgentWentStale
	case gone(t.before):
		return eventlog.AgentRevived
	}
	return ""
}

// lookAtHealth finds agents whose health is not what was told last: it is told,
// once, whoever looks. Pages are drawn again, and what matters is written down.
// It returns how many died. Their jobs are the reaper's. Heartbeats that come
// cost nothing here.
func (t *term) lookAtHealth(ctx context.Context) (int, error) {
	var workspaces []ids.ID
	err := t.db.InSystem(ctx, func(tx db.Tx) (err error) {
		workspaces, err = q.AgentHealthWorkspaces(ctx, tx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("health of agents: %w", err)
	}
	died := 0
	var failed error
	for _, w := range workspaces {
		n, err := t.tellHealth(ctx, w)
		died, failed = died+n, errors.Join(failed, err)
	}
	return died, failed
}

// tellHealth tells what changed in one workspace, and returns how many died.
func (t *term) tellHealth(ctx context.Context, workspace ids.ID) (int, error) {
	var turns, died []turn
	err := t.db.InWorkspace(ctx, workspace, func(tx db.Tx) error {
		rows, err := q.AgentHealthTell(ctx, tx, dbsqlc.AgentHealthTellParams{WorkspaceID: workspace, MaxRows: maxTold})
		if err != nil {
			return err
		}
		for _, r := range rows {
			one := turn{Agent: r.Name, Factory: r.Factory, LastHeartbeatAt: r.LastHeartbeatAt,
				before: fleet.Health(r.Before), after: fleet.Health(r.After)}
			if err := one.recordTx(ctx, tx, workspace); err != nil {
				return err
			}
			turns = append(turns, one)
			if one.after == fleet.Dead {
				died = append(died, one)
			}
		}
		return t.lineOfDeaths(ctx, tx, workspace, died)
	})
	if err != nil {
		return 0, fmt.Errorf("tell the health of agents: %w", err)
	}
	if len(turns) > 0 {
		t.wake.Publish(fleet.Topic(workspace), eventlog.Topic(workspace))
	}
	return len(died), nil
}

// recordTx writes the turn into the log of events.
func (t turn) recordTx(ctx context.Context, tx db.Tx, workspace ids.ID) error {
	kind := t.event()
	if kind == "" {
		return nil
	}
	payload, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	who := tenancy.System(workspace, watcher)
	return eventlog.AppendTx(ctx, tx, workspace, eventlog.Event{Type: kind, Actor: who.Actor(),
		Payload: payload, Changes: []eventlog.Change{{Field: "health", Old: t.before, New: t.after}}})
}

// lineOfDeaths writes one line about the agents of a workspace that died.
func (t *term) lineOfDeaths(ctx context.Context, tx db.Tx, workspace ids.ID, died []turn) error {
	if len(died) == 0 {
		return nil
	}
	message := fmt.Sprintf("%s of %s is dead: no heartbeat came in time.", died[0].Agent, died[0].Factory)
	if len(died) > 1 {
		message = fmt.Sprintf("%d agents are dead: no heartbeat came in time.", len(died))
	}
	return t.line(ctx, tx, &workspace, levelWarning, message, map[string][]turn{"agents": died})
}
