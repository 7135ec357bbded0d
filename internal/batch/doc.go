// Package batch answers requests of one kind together. Requests of a workspace that
// arrive while a transaction runs form the next batch; a single request is run at once.
//
// Each kind of request has one implementation, Handler.Exec, which waits for no lock. An
// item whose lock somebody else has is run again as a batch of one, after Handler.Lock
// has waited for its locks: SKIP LOCKED never skips a row that its own transaction has
// locked, so the same statements find everything unlocked. So only the caller that needs
// a lock waits for it, and no other request of the batch.
package batch
