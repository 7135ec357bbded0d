package web

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/coordinator"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Health returns whether the coordinator works, for the navigation of every page.
func (s *Site) Health(ctx context.Context) layout.Health {
	status, err := s.leader.Get(ctx)
	if err != nil {
		return layout.Health{Word: "Not known", Icon: "circle-question-mark", Tone: ui.Warn}
	}
	return HealthModel(status)
}

// HealthModel returns a status in a word.
func HealthModel(status coordinator.Status) layout.Health {
	switch {
	case status.Healthy():
		return layout.Health{Word: "Working", Icon: "circle-check", Tone: ui.OK}
	case status.Active && status.LastCycleAt == nil:
		return layout.Health{Word: "Starting", Icon: "loader-circle"}
	case status.Active:
		return layout.Health{Word: "Late", Icon: "clock-alert", Tone: ui.Warn}
	default:
		return layout.Health{Word: "Nobody leads", Icon: "octagon-alert", Tone: ui.Bad}
	}
}
