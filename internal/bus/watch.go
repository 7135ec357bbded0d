package bus

import (
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// Watch notifies whoever shows messages of a workspace that there may be others now, until
// stop is called.
func (s *Service) Watch(workspace ids.ID) (changed <-chan struct{}, stop func()) {
	news := signal.New()
	return news.C(), s.wake.Subscribe(Topic(workspace), func(string) { news.Set() })
}
