// Package merging has approved work merged by factories, for products that want it so: for
// each approved job it makes a job of kind merge, which any factory with the repo can claim,
// and decides about the first one as that one ends.
//
//	approved    -> a merge job is made; there is one that is open at most
//	it is done  -> the job is merged, with the commit that the merge job reports
//	it failed,  -> the job goes back to review with the reason
//	or was cancelled
//	not approved any more -> the merge job is cancelled
//
// All of it is safe in several processes at once, and after a crash between any two steps:
// the merge job has an idempotency key, and decisions go by the statuses of both jobs.
package merging
