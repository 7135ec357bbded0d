package report

import (
	"cmp"
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// beatLease is a row of an agent after its heartbeat: with one of its leases, or without a job
// where it has none. Heard is set for the agent's present boot, and Busy where somebody else has
// locked it, or one of its leases. ProgressPercent is below 0 where there is none.
type beatLease = dbsqlc.AgentsBeatRow

// beatAgent is an agent after its heartbeat, with its leases.
type beatAgent struct {
	beatLease
	leases []beatLease
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
			leases = append(leases, row)
		}
		agents[row.AgentID] = beatAgent{row, leases}
	}
	return agents, nil
}
