package bus

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Types of messages, after the design of the message bus. Others begin with "custom.",
// and those that only the server says with "system." or "lease.".
const (
	TaskAssign    = "task_assign"
	TaskClaim     = "task_claim"
	TaskProgress  = "task_progress"
	TaskDone      = "task_done"
	TaskFailed    = "task_failed"
	TaskBlocked   = "task_blocked"
	Heartbeat     = "heartbeat"
	StateChange   = "state_change"
	ReviewRequest = "review_request"
	ReviewResult  = "review_result"
	AgentStarted  = "agent_started"
	AgentStopped  = "agent_stopped"
)

var (
	anybody    = []tenancy.Kind{tenancy.KindPerson, tenancy.KindAgent, tenancy.KindSystem}
	serverOnly = []tenancy.Kind{tenancy.KindSystem}

	// speakers are who says a type of message. An agent's roles decide whom it writes to
	// (mayAddress) and not what it says.
	speakers = map[string][]tenancy.Kind{
		TaskAssign: anybody, TaskClaim: anybody, TaskProgress: anybody, TaskDone: anybody, TaskFailed: anybody, TaskBlocked: anybody,
		Heartbeat: anybody, ReviewRequest: anybody,
		StateChange: serverOnly, ReviewResult: serverOnly, AgentStarted: serverOnly, AgentStopped: serverOnly,
	}
	// families are who says the types that begin so.
	families = map[string][]tenancy.Kind{"custom.": anybody, "system.": serverOnly, "lease.": serverOnly}

	familyType = regexp.MustCompile(`^[a-z]+\.[a-z0-9][a-z0-9_.-]{0,55}$`)
)

// findSpeakers gives who says a type, nil for one that there is not.
func findSpeakers(kind string) []tenancy.Kind {
	for prefix, may := range families {
		if strings.HasPrefix(kind, prefix) && familyType.MatchString(kind) {
			return may
		}
	}
	return speakers[kind]
}

// checkType refuses types that there are not, and those that somebody else says.
func checkType(who tenancy.Principal, kind string) error {
	may := findSpeakers(kind)
	switch {
	case may == nil:
		return fault.Invalid("type", "It must be one of the types of messages, or custom.<name>.")
	case !slices.Contains(may, who.Kind):
		return fault.New(fault.Forbidden, "Only the server says %s.", kind).With("field", "type")
	}
	return nil
}
