package dispatch

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"fleetboard/db/dbsqlc"
	"fleetboard/internal/ids"
)

// rememberedSeats is of how many agents and factories it is known where their
// leases begin; those that claim least are forgotten first.
const rememberedSeats = 1 << 16

// seatFloors are the numbers of leases before which an agent or a factory has none
// left. Whoever gives a lease holds both their locks and takes the next number, so
// what was counted under the locks stays true: ended leases that the database
// cannot remove yet, for somebody holds a snapshot open, are not counted again
// with each claim.
type seatFloors struct {
	of *lru.Cache[ids.ID, seatFloor]
}

type seatFloor struct {
	number  int64
	factory ids.ID // of an agent
}

func newSeatFloors() *seatFloors {
	cache, err := lru.New[ids.ID, seatFloor](rememberedSeats)
	if err != nil {
		panic(err) // only for a size below one
	}
	return &seatFloors{cache}
}

// counting gives what the statement needs to count the seats of these agents.
func (f *seatFloors) counting(workspace ids.ID, agents []ids.ID) dbsqlc.AgentsForClaimParams {
	params := dbsqlc.AgentsForClaimParams{WorkspaceID: workspace, Ids: agents}
	for _, id := range agents {
		own, _ := f.of.Get(id)
		factory, _ := f.of.Get(own.factory)
		params.FromNumbers = append(params.FromNumbers, own.number)
		params.Factories = append(params.Factories, own.factory)
		params.FactoryNumbers = append(params.FactoryNumbers, factory.number)
	}
	return params
}

// from is the number before which an agent has no lease left.
func (f *seatFloors) from(agent ids.ID) int64 {
	own, _ := f.of.Get(agent)
	return own.number
}

// counted remembers the oldest leases that are left, while the agent and its factory
// are locked.
func (f *seatFloors) counted(agent dbsqlc.AgentsForClaimRow) {
	own, _ := f.of.Get(agent.ID)
	f.of.Add(agent.ID, seatFloor{max(own.number, agent.OldestLease), agent.FactoryID})
	beside, _ := f.of.Get(agent.FactoryID)
	f.of.Add(agent.FactoryID, seatFloor{number: max(beside.number, agent.FactoryOldestLease)})
}

// given remembers the first leases that a run has given to an agent and in its
// factory, where it counted none before.
func (f *seatFloors) given(agent dbsqlc.AgentsForClaimRow, first, firstOfFactory int64) {
	if agent.AgentTaken == 0 {
		agent.OldestLease = first
	}
	if agent.FactoryTaken == 0 {
		agent.FactoryOldestLease = firstOfFactory
	}
	f.counted(agent)
}
