// Package coordinator is the leader's loops: they take jobs back from agents that died,
// promote waiting jobs, time out jobs that take too long and delete what is old. One
// process runs them at a time, elected by package leadership, and all of it is safe if
// two do: each change is decided again in its own transaction.
//
// What was done is counted in the leader's row, at most every 5 seconds, and written
// to the log of the coordinator, which people may read for 30 days.
//
// Jobs go on without it: where no coordinator runs, a claim takes back a few expired
// leases itself.
package coordinator
