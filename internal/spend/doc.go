// Package spend knows what models were used for: how many tokens, and what that cost
// where it is known.
//
// A usage entry is one message to a model, or what a session has used so far, reported by the
// agent under the lease that it worked for. It is named by an id within its job, and it is
// reported many times: while it grows, by retries, and by later attempts on the job whose
// session goes on and reports its history again. It is raised, meter by meter, to the larger one,
// so any order, repetition or partial telling ends in the same totals (ADR 51). Entries
// are never lowered and never taken away.
//
// Each entry is booked by the price of its model at its instant (package prices), under
// its first lease. The sums of leases, and of leases by the hour and the model, are raised
// by the difference in the same transaction. Reports are made of those alone. What an
// unknown model cost is unknown and not nothing: such entries and tokens are counted
// apart, so that no sum pretends to be whole.
//
// Money is a whole number of nano-dollars. It is never a float.
package spend
