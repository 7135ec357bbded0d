// Package leadership elects the one process that leads, by a row with a lease.
// The database's clock decides how long the lease lasts; the leader stops
// trusting itself earlier, by a clock of its own.
//
// The states of a candidate:
//
//	waiting  requests the lease, again when the leader's lease ends
//	leading  renews the lease every 5 seconds. It trusts itself for 12 seconds from
//	         when it sent the last request that was granted; the lease lasts 15
//	         seconds from when the database received it. So trust ends first:
//	         sent + 12 s < received + 15 s
//	ended    by a renewal that was refused, by 12 seconds without one that was
//	         granted, or by the end of the process, which gives the lease back.
//	         The candidate waits for its work to end and requests it again
//
// Leadership saves work; it does not guarantee that only one process writes: a process
// that was stopped in the middle of a statement finishes it when it goes on. What a
// leader writes must be safe if two lead.
package leadership
