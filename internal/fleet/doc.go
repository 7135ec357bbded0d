// Package fleet knows who can work: factories with their seats, repos and
// capabilities, the agents inside them and how alive they are, and which
// factory can run a job with given needs.
//
// An agent is healthy while its heartbeats come, then warn, stale and dead by
// the age of the last one; the database's clock decides. A factory is live
// while one of its agents is not dead.
package fleet
