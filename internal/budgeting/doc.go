// Package budgeting lets jobs be claimed as far as their budgets reach, and settles what
// they use.
//
// A claim reserves a slice of every budget that its job counts for; where a hard one has
// too little left the job waits. What is used is settled out of the reservation, which is topped up
// before it is used up; the end of a lease frees the rest. So a hard budget is passed by
// at most one slice for each running job, and only by what was spent before anybody was
// notified.
//
// Each call locks the periods that it changes once, in the order of the budgets, and as
// the last locks of its transaction (ADR 53).
package budgeting
