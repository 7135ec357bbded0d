package report

import (
	"cmp"
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// beatAgent is an agent after its heartbeat, with its leases.
type beatAgent struct {
	heard           bool // it is the agent's present boot
	busy            bool // somebody else has locked it, or one of its leases
	draining        bool
	intervalSeconds int
	now             time.Time
	leases          []beatLease
}

// beatLease is one of its leases.
type beatLease struct {
	job       ids.ID
	key       string
	epoch     int64
	status    jobs.Status
	answer    string
	directive string
	reason    string
	expiresAt time.Time
	percent   int // below 0 where there is none
	step      string
}

// writeBeats writes signs of life, extends the leases that the agents list, and returns the
// agents that nobody else has locked. Each agent is in the list once.
func writeBeats(ctx context.Context, tx db.Tx, workspace ids.ID, list []*beatItem) (map[ids.ID]beatAgent, error) {
	p := dbsqlc.AgentsBeatParams{WorkspaceID: workspace}
	for _, h := range list {
		memory, load := -1, float32(-1)
		if h.in.MemoryMB != nil {
			memory = *h.in.MemoryMB
		}
		if h.in.CPUPercent != nil {
			load = float32(*h.in.CPUPercent)
		}
		p.Ids, p.BootIds, p.Generations = append(p.Ids, h.who.Agent), append(p.BootIds, h.who.Boot), append(p.Generations, h.who.Generation)
		p.Statuses = append(p.Statuses, cmp.Or(h.in.Status, "idle"))
		p.MemoryMb, p.CpuPercent = append(p.MemoryMb, memory), append(p.CpuPercent, load)
		for _, l := range h.in.Leases {
			p.LeaseAgents, p.LeaseEpochs = append(p.LeaseAgents, h.who.Agent), append(p.LeaseEpochs, l.Epoch)
			p.LeaseJobs = append(p.LeaseJobs, l.Job)
		}
	}
	rows, err := q.AgentsBeat(ctx, tx, p)
	if err != nil {
		return nil, err
	}
	agents := make(map[ids.ID]beatAgent, len(list))
	for _, row := range rows {
		leases := agents[row.AgentID].leases
		if row.JobID != ids.Nil {
			leases = append(leases, beatLease{job: row.JobID, key: row.Key, epoch: row.Epoch, status: jobs.Status(row.Status),
				answer: row.Answer, directive: row.Directive, reason: row.DirectiveReason, expiresAt: row.ExpiresAt,
				percent: row.ProgressPercent, step: row.CurrentStep})
		}
		agents[row.AgentID] = beatAgent{heard: row.Heard, busy: row.Busy, draining: row.Draining,
			intervalSeconds: row.HeartbeatIntervalSeconds, now: row.Now, leases: leases}
	}
	return agents, nil
}
