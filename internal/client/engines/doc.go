// Package engines runs the programs of coding agents: Claude Code, Codex, OpenCode, any
// command, and one that plays a script. An Engine starts its program in a worktree, reports
// what it does while it runs, and says how it ended. It knows neither the server nor git.
//
// Package transcript reads what the programs print of their usage; package scripted is a
// model for tests of the real programs.
package engines
