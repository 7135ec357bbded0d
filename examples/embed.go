// Package examples holds the example agent, which the server gives to hosts.
package examples

import _ "embed"

// Agent is agent.sh, a whole agent in bash.
//
//go:embed agent.sh
var Agent []byte
