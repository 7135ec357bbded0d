package settings

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// ConnectPage says how to connect an agent by hand.
type ConnectPage struct {
	Shell   layout.Shell
	Connect Connect
}

// Connect is its content.
type Connect struct {
	Server    string // the address that the reader reached us by
	TokenFile string // where the first start wrote an enrolment token, "" where it wrote none
	// Made is on the answer that made the token, and nowhere afterwards.
	Made *MadeToken
	// CanEnrol shows the form that makes a token.
	CanEnrol bool
	Form     TokenForm
	Agent    string // the agent's and the factory's name in the lines
	Factory  string
	Tools    Tools
}

// environment returns the lines that name the server and the token.
func (c Connect) environment() []string {
	if c.Made != nil {
		return ui.AgentEnvironment(c.Server, c.Made.Token, "")
	}
	return ui.AgentEnvironment(c.Server, "", c.TokenFile)
}

// worker returns the line that starts a worker.
func (c Connect) worker() []string {
	if c.Made != nil {
		return ui.WorkerStart(c.Server, c.Made.Token, "")
	}
	return ui.WorkerStart(c.Server, "", c.TokenFile)
}

// hasToken reports whether there is a token for the lines.
func (c Connect) hasToken() bool { return c.Made != nil || c.TokenFile != "" }

// registration returns the lines that register an agent and keep the token that it
// is given.
func (c Connect) registration() []string {
	return []string{
		`agent_token=$(curl -sS --fail-with-body -X PUT "$FLEETBOARD_URL/api/v1/agents/` + ui.Clean(c.Agent) + `" \`,
		`  -H "Authorization: Bearer $FLEETBOARD_ENROLMENT_TOKEN" -H 'Content-Type: application/json' \`,
		`  -d '{"boot_id": "'"$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')"'", "model": "by-hand",`,
		`    "factory": {"name": "` + ui.Clean(c.Factory) + `", "os": "linux", "seats": 1, "repos": [{"name": "demo"}]}}' \`,
		`  | sed -n 's/.*"token":"\([^"]*\)".*/\1/p')`,
	}
}

// claim returns the lines that claim a job.
func (c Connect) claim() []string {
	return []string{
		`curl -sS -i -X POST "$FLEETBOARD_URL/api/v1/fleet/claim" \`,
		`  -H "Authorization: Bearer $agent_token" -H 'Content-Type: application/json' \`,
		`  -d '{"wait_seconds": 2}'`,
	}
}
