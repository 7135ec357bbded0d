package attempts

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// OfAgent is an attempt with the job that it is of.
type OfAgent struct {
	Attempt
	JobID ids.ID
	Key   string
}

// Filter narrows the attempts of an agent. Zero fields narrow nothing.
type Filter struct {
	Outcome string
	Cursor  string
	Limit   int
}

// AgentAttempts reads the attempts of an agent which a filter leaves,
// newest first, and the cursor of the next page, "" after the last one.
func (s *Service) AgentAttempts(ctx context.Context, who tenancy.Principal, agent ids.ID, f Filter) (
	list []OfAgent, next string, err error,
) {
	before, err := parseTurn(f.Cursor)
	if err != nil {
		return nil, "", err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = ofAgentTx(ctx, tx, who.Workspace, agent, f.Outcome, before, f.Limit+1)
		return err
	})
	if len(list) > f.Limit {
		list = list[:f.Limit]
		last := list[f.Limit-1]
		next = turn{last.ClaimedAt, last.JobID, last.Epoch}.String()
	}
	return list, next, err
}

// turn is where an attempt stands among those of its agent.
type turn struct {
	at    time.Time
	job   ids.ID
	epoch int64
}

func (t turn) String() string { return fmt.Sprintf("%d.%d.%s", t.at.UnixMicro(), t.epoch, t.job) }

// parseTurn reads a cursor; where there is none, the turn that is after all others.
func parseTurn(cursor string) (turn, error) {
	var micros int64
	var t turn
	var job string
	given := cmp.Or(cursor, turn{at: time.UnixMicro(jobs.LastMicro)}.String())
	_, err := fmt.Sscanf(strings.ReplaceAll(given, ".", " "), "%d %d %s", &micros, &t.epoch, &job)
	id, ok := ids.Parse(job)
	if err != nil || !ok || micros < 0 || micros > jobs.LastMicro {
		return turn{}, fault.Invalid("cursor", "It must be one that this server gave out.")
	}
	t.at, t.job = time.UnixMicro(micros), id
	return t, nil
}
