package bus

import (
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// Watch signals each change of a workspace's messages until stop is called.
func (s *Service) Watch(workspace ids.ID) (changed <-chan struct{}, stop func()) {
	change := signal.New()
	return change.C(), s.wake.Subscribe(Topic(workspace), func(string) { change.Set() })
}
