package claim

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/fleetboard/fleetboard/internal/ids"
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
	known *lru.Cache[ids.ID, leaseWatermark]
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

// seatCount says from which numbers on the leases of an agent, and of its factory, have
// to be counted.
type seatCount struct {
	agent, factory            ids.ID
	fromNumber, fromOfFactory int64
}

// of returns what is needed to count the seats of these agents.
func (m *leaseWatermarks) of(agents []ids.ID) []seatCount {
	list := make([]seatCount, 0, len(agents))
	for _, id := range agents {
		own, _ := m.known.Get(id)
		factory, _ := m.known.Get(own.factory)
		list = append(list, seatCount{agent: id, factory: own.factory, fromNumber: own.number, fromOfFactory: factory.number})
	}
	return list
}

// from returns the number before which an agent has no lease left.
func (m *leaseWatermarks) from(agent ids.ID) int64 {
	own, _ := m.known.Get(agent)
	return own.number
}

// advance remembers the oldest leases that were left when an agent and its factory were
// locked, once the transaction has committed: a lease that ended in it counts as long as
// it has not.
func (m *leaseWatermarks) advance(agent claimant) {
	own, _ := m.known.Get(agent.ID)
	m.known.Add(agent.ID, leaseWatermark{max(own.number, agent.OldestLease), agent.FactoryID})
	beside, _ := m.known.Get(agent.FactoryID)
	m.known.Add(agent.FactoryID, leaseWatermark{number: max(beside.number, agent.FactoryOldestLease)})
}

// with returns the agent with the first leases that a batch has given to it and in its
// factory, the oldest where it counted none before.
func (agent claimant) with(first, firstOfFactory int64) claimant {
	if agent.Taken == 0 {
		agent.OldestLease = first
	}
	if agent.FactoryTaken == 0 {
		agent.FactoryOldestLease = firstOfFactory
	}
	return agent
}
