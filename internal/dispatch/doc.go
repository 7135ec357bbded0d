// Package dispatch gives jobs to agents and takes them back. It builds its parts and
// holds no rule:
//
//   - enrol: agents register and end;
//   - claim: agents get leases on jobs, in six steps (see its doc.go);
//   - report: agents say how they and their jobs are, and end their leases;
//   - preempt: agents are asked to give seats to more urgent jobs;
//   - recovery: lapsed leases are taken back, jobs go on that nothing holds any more;
//   - actions: people change the status of jobs.
//
// The parts know one another only by small interfaces that they declare. What they share
// is package lease (the right to work on a job, its end, and what follows that) and
// package waitlist (who waits for a job, in memory).
//
// Locks are taken in this order: factory, agent, job, lease. A claim alone comes the
// other way, from the ready row to its job; whoever changes a ready job therefore takes
// the ready row without waiting (jobs.WithdrawTx).
package dispatch
