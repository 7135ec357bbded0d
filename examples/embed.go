// Package examples holds the example agents: the server gives one to hosts, the demo runs
// the other.
package examples

import _ "embed"

// Agent is agent.sh, a whole agent in bash.
//
//go:embed agent.sh
var Agent []byte

// Orchestrator is orchestrator.sh, which splits plans among other agents.
//
//go:embed orchestrator.sh
var Orchestrator []byte
