package web

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Health says in the navigation of every page whether the coordinator works.
func (s *Site) Health(ctx context.Context) layout.Health {
	is, err := s.leader.Get(ctx)
	if err != nil {
		return layout.Health{Word: "Not known", Icon: "circle-question-mark", Tone: ui.Warn}
	}
	return ShownHealth(is)
}

// ShownHealth returns a status in a word.
func ShownHealth(is coordinator.Status) layout.Health {
	switch {
	case is.Healthy():
		return layout.Health{Word: "Working", Icon: "circle-check", Tone: ui.OK}
	case is.Active && is.LastCycleAt == nil:
		return layout.Health{Word: "Starting", Icon: "loader-circle"}
	case is.Active:
		return layout.Health{Word: "Late", Icon: "clock-alert", Tone: ui.Warn}
	default:
		return layout.Health{Word: "Nobody leads", Icon: "octagon-alert", Tone: ui.Bad}
	}
}
