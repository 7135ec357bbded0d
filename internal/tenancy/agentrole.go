package tenancy

import "regexp"

// The roles of agents, which messages are addressed to. Others begin with "custom:".
const (
	AgentWorker       = "worker"
	AgentOrchestrator = "orchestrator"
	AgentReviewer     = "reviewer"
)

// MaxAgentRoles is how many roles an agent, or an enrolment token, has at most.
const MaxAgentRoles = 20

var customRole = regexp.MustCompile(`^custom:[a-z0-9][a-z0-9_.-]{0,49}$`)

// IsAgentRole reports whether a name is that of a role.
func IsAgentRole(name string) bool {
	return name == AgentWorker || name == AgentOrchestrator || name == AgentReviewer || customRole.MatchString(name)
}
