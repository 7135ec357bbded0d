// Package batch answers requests of one kind together. Requests of a workspace that
// arrive while a transaction runs form the next batch; one that comes alone is run at
// once.
//
// There is one implementation of each kind, Handler.Exec, which waits for no lock. An
// item whose lock somebody else has is run again as a batch of one, after Handler.Lock
// has taken its locks by waiting: SKIP LOCKED never skips a row that its own
// transaction has locked, so the same statements find everything free. A lock is so
// waited for in its own caller's time, and never in a neighbour's.
package batch
