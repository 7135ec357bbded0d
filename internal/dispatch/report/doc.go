// Package report takes what agents say: heartbeats, the start and the progress of a job,
// its log, what models were used for, jobs found on the way, and the call that ends a
// lease.
//
// Every call carries the epoch of its lease; one with an old or ended epoch is refused
// and changes nothing. Calls of a workspace are answered in batches (package batch); one
// that would have to wait for a lock is answered alone.
package report
