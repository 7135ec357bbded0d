package job

import (
	"time"

	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/views/ui"
)

// LateProgress is the age from which on a progress is amber.
const LateProgress = 10 * time.Minute

// LateReview is the age from which on a review is amber.
const LateReview = 2 * time.Hour

// HeartbeatTones returns the colour of the dot before a heartbeat's age, and of the age.
func HeartbeatTones(h fleet.Health) (dot, text ui.Tone) {
	switch h {
	case fleet.Healthy:
		return ui.OK, ui.Plain
	case fleet.Dead:
		return ui.Bad, ui.Bad
	case fleet.Ended:
		return ui.Plain, ui.Plain
	default:
		return ui.Warn, ui.Warn
	}
}
