package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// maxHealthChanges bounds the agents of a workspace whose changes one cycle records.
const maxHealthChanges = 1000

// healthActor is the actor of events about an agent's health.
const healthActor = "health"

// healthChange is a change of an agent's health, as the logs record it.
type healthChange struct {
	Agent           string    `json:"agent"`
	Factory         string    `json:"factory"`
	LastHeartbeatAt time.Time `json:"last_heartbeat_at"`

	before, after fleet.Health
}

// eventType returns the type of the event to append; "" for a change that only pages show.
func (c healthChange) eventType() eventlog.Type {
	gone := func(h fleet.Health) bool { return h == fleet.Stale || h == fleet.Dead }
	switch {
	case c.after == fleet.Dead:
		return eventlog.AgentDied
	case c.after == fleet.Stale:
		return eventlog.AgentWentStale
	case gone(c.before):
		return eventlog.AgentRevived
	}
	return ""
}

// checkHealth finds agents whose health is not the recorded one, and records each
// change once, however many processes check. Pages show it, and changes that matter
// become events. It returns how many agents died; the reaper takes back their jobs.
// Agents whose heartbeats arrive cost nothing here.
func (t *term) checkHealth(ctx context.Context) (int, error) {
	workspaces, err := withChangedHealth(ctx, t.db)
	if err != nil {
		return 0, err
	}
	died := 0
	var failed error
	for _, w := range workspaces {
		n, err := t.recordHealth(ctx, w)
		died += n
		failed = errors.Join(failed, err)
	}
	return died, failed
}

// recordHealth records what changed in one workspace, and returns how many died.
func (t *term) recordHealth(ctx context.Context, workspace ids.ID) (int, error) {
	var changes, died []healthChange
	err := t.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
		var err error
		if changes, err = recordHealthTx(ctx, tx, workspace); err != nil {
			return err
		}
		for _, c := range changes {
			if err := c.appendTx(ctx, tx, workspace); err != nil {
				return err
			}
			if c.after == fleet.Dead {
				died = append(died, c)
			}
		}
		return t.writeDeaths(ctx, tx, workspace, died)
	})
	if err != nil {
		return 0, fmt.Errorf("record the health of agents: %w", err)
	}
	if len(changes) > 0 {
		t.wake.Publish(fleet.Topic(workspace), eventlog.Topic(workspace))
	}
	return len(died), nil
}

// appendTx appends the change to the log of events.
func (c healthChange) appendTx(ctx context.Context, tx db.Tx, workspace ids.ID) error {
	event := c.eventType()
	if event == "" {
		return nil
	}
	return eventlog.RecordTx(ctx, tx, tenancy.System(workspace, healthActor), event, c,
		eventlog.Change{Field: "health", Old: c.before, New: c.after})
}

// writeDeaths writes a line of the log about the agents of a workspace that died.
func (t *term) writeDeaths(ctx context.Context, tx db.Tx, workspace ids.ID, died []healthChange) error {
	if len(died) == 0 {
		return nil
	}
	message := fmt.Sprintf("%s of %s is dead: no heartbeat came in time.", died[0].Agent, died[0].Factory)
	if len(died) > 1 {
		message = fmt.Sprintf("%d agents are dead: no heartbeat came in time.", len(died))
	}
	return t.writeLine(ctx, tx, &workspace, levelWarning, message, map[string][]healthChange{"agents": died})
}
