package dispatch

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
)

// maxLeaseWatermarks bounds the cache (least recently used out): one entry for each
// agent or factory.
const maxLeaseWatermarks = 1 << 16

// leaseWatermarks are the numbers of leases before which an agent or a factory has none
// left. Whoever gives a lease holds both their locks and takes the next number, so
// what was counted under the locks stays true: ended leases that the database
// cannot remove yet, for somebody holds a snapshot open, are not counted again
// with each claim.
type leaseWatermarks struct {
	of *lru.Cache[ids.ID, leaseWatermark]
}

type leaseWatermark struct {
	number  int64
	factory ids.ID // of an agent
}

func newLeaseWatermarks() *leaseWatermarks {
	cache, err := lru.New[ids.ID, leaseWatermark](maxLeaseWatermarks)
	if err != nil {
		panic(err) // only for a size below one
	}
	return &leaseWatermarks{cache}
}

// counting gives what the statement needs to count the seats of these agents.
func (m *leaseWatermarks) counting(workspace ids.ID, agents []ids.ID) dbsqlc.AgentsForClaimParams {
	params := dbsqlc.AgentsForClaimParams{WorkspaceID: workspace, Ids: agents}
	for _, id := range agents {
		own, _ := m.of.Get(id)
		factory, _ := m.of.Get(own.factory)
		params.FromNumbers = append(params.FromNumbers, own.number)
		params.Factories = append(params.Factories, own.factory)
		params.FactoryNumbers = append(params.FactoryNumbers, factory.number)
	}
	return params
}

// from is the number before which an agent has no lease left.
func (m *leaseWatermarks) from(agent ids.ID) int64 {
	own, _ := m.of.Get(agent)
	return own.number
}

// counted remembers the oldest leases that are left, while the agent and its factory
// are locked.
func (m *leaseWatermarks) counted(agent dbsqlc.AgentsForClaimRow) {
	own, _ := m.of.Get(agent.ID)
	m.of.Add(agent.ID, leaseWatermark{max(own.number, agent.OldestLease), agent.FactoryID})
	beside, _ := m.of.Get(agent.FactoryID)
	m.of.Add(agent.FactoryID, leaseWatermark{number: max(beside.number, agent.FactoryOldestLease)})
}

// given remembers the first leases that a run has given to an agent and in its
// factory, where it counted none before.
func (m *leaseWatermarks) given(agent dbsqlc.AgentsForClaimRow, first, firstOfFactory int64) {
	if agent.AgentTaken == 0 {
		agent.OldestLease = first
	}
	if agent.FactoryTaken == 0 {
		agent.FactoryOldestLease = firstOfFactory
	}
	m.counted(agent)
}
