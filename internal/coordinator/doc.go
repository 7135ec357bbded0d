// Package coordinator is the leader's loop: it takes back what dies, promotes
// what waits, ends what takes too long and forgets what is old. One process does
// it at a time, elected by package leadership, and all of it is safe if two
// do: each change is decided again in its own transaction.
//
// What was done is counted in the leader's row, at most every 5 seconds, and written
// to the log of the coordinator, which people may read for 30 days.
//
// Nothing depends on it alone: where no coordinator runs a claim takes back a few
// expired leases itself.
package coordinator
