// Package demo shows a fleet at work on a server: it makes small git repositories, a
// product for each and their budgets, runs workers on them whose agents play scripts, and
// submits a stream of jobs that depend on each other, ask, fail, and are reviewed. An
// orchestrator splits plans among the workers and answers what they ask. What a
// person would decide it decides after a while, unless it is set to leave that.
package demo
