// Package dispatch gives jobs to agents and takes them back: registration,
// heartbeat, claim, the reports of a running job, its end, and the reaper.
//
// A claim is one statement on the top of one lane. It gives a lease: the right
// to work on the job until a time of the database's clock, under an epoch that
// is one higher than any before. Every write of an agent carries the epoch;
// what comes with an old or ended one is refused and changes nothing.
//
// Waiting claims hold no connection. Each registers with the waiters of its
// process, reads the version of its lanes, scans, compares, and only then
// waits, so that no wake-up can fall between the scan and the wait.
//
// Locks are taken in this order: factory, agent, job, lease. A claim alone
// comes the other way, from the ready row to its job; whoever changes a ready
// job therefore takes the ready row without waiting (jobs.WithdrawTx).
package dispatch
