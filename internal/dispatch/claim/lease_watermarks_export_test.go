package claim

import (
	"github.com/fleetboard/fleetboard/internal/ids"
)

// SeatsFrom is from which lease on the next claim of an agent counts its seats, and
// those of its factory.
func (s *Service) SeatsFrom(agent ids.ID) (number, ofFactory int64) {
	c := s.leaseWatermarks.of([]ids.ID{agent})[0]
	return c.fromNumber, c.fromOfFactory
}

// FactoryOf returns the factory that is remembered of an agent.
func (s *Service) FactoryOf(agent ids.ID) ids.ID {
	return s.leaseWatermarks.of([]ids.ID{agent})[0].factory
}
