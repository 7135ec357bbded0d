package bus

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Types of messages, after the design of the message bus. Further types begin with "custom.",
// and those that only the server sends with "system." or "lease.".
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

	// allowedSenders are the kinds of senders of each type. An agent's roles decide to whom it
	// writes (mayAddress), and not which types.
	allowedSenders = map[string][]tenancy.Kind{
		TaskAssign: anybody, TaskClaim: anybody, TaskProgress: anybody, TaskDone: anybody, TaskFailed: anybody, TaskBlocked: anybody,
		Heartbeat: anybody, ReviewRequest: anybody,
		StateChange: serverOnly, ReviewResult: serverOnly, AgentStarted: serverOnly, AgentStopped: serverOnly,
	}
	// allowedByPrefix are the kinds of senders of the types that begin with a prefix.
	allowedByPrefix = map[string][]tenancy.Kind{"custom.": anybody, "system.": serverOnly, "lease.": serverOnly}

	prefixedType = regexp.MustCompile(`^[a-z]+\.[a-z0-9][a-z0-9_.-]{0,55}$`)
)

// findAllowedSenders returns the kinds of senders of a type; nil where there is no such type.
func findAllowedSenders(kind string) []tenancy.Kind {
	for prefix, may := range allowedByPrefix {
		if strings.HasPrefix(kind, prefix) && prefixedType.MatchString(kind) {
			return may
		}
	}
	return allowedSenders[kind]
}

// checkType refuses unknown types, and types that the sender may not send.
func checkType(who tenancy.Principal, kind string) error {
	may := findAllowedSenders(kind)
	switch {
	case may == nil:
		return fault.Invalid("type", "It must be one of the types of messages, or custom.<name>.")
	case !slices.Contains(may, who.Kind):
		return fault.New(fault.Forbidden, "Only the server says %s.", kind).With("field", "type")
	}
	return nil
}
