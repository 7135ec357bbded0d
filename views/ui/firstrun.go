package ui

// lines are the commands that start a factory by hand.
func (f FirstRun) lines() []string {
	return []string{
		"export FLEETBOARD_URL=" + Clean(f.Server),
		"export FLEETBOARD_ENROLMENT_TOKEN_FILE=" + Clean(f.TokenFile),
		"export AGENT_NAME=agent-1 FACTORY_NAME=here",
		"export REPO_NAME=demo REPO_DIR=/path/to/demo",
		"examples/agent.sh",
	}
}

// FirstRun is the board's empty state: no job and no factory yet.
type FirstRun struct {
	Server    string // "http://127.0.0.1:8080"
	TokenFile string // path of the enrolment token on the server's machine
	Factory   string // name of the first factory, "" while there is none
	Agent     string
	CanWrite  bool
}
