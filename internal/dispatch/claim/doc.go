// Package claim gives jobs to agents, under leases.
//
// Claims of a workspace are answered in batches (package batch), in ten steps:
//
//  1. authenticate: who claims, which lanes they serve, and whether the request was
//     answered before;
//  2. hold: the jobs that an agent whose model has no price may not take;
//  3. resolve: the one job that a claim names;
//  4. heads: the first ready job of each lane; whoever has none is answered here, and
//     nothing is written;
//  5. reserve: factories and agents are locked, their seats counted;
//  6. dequeue: the most urgent jobs leave job_ready, lane by lane, products in turn;
//  7. afford: those that their budgets cannot pay wait for a budget;
//  8. shadow: where the workspace wants to know, the factories are compared for the jobs, and
//     which one suits each best is kept with its lease;
//  9. lease: leases, attempts and events are written, the jobs read;
//  10. ask: a person is asked about the models without a price, each once.
//
// A claim that got nothing waits in the order register, compare, sleep: package waitlist
// registers it, compares the version of its lanes with the one from before step 1, and
// only then sleeps. So no wake-up falls between the reading and the wait. It holds no
// connection.
//
// Jobs are given by priority, then by the turns of their products (strides.go), then by how long
// they are ready, with one exception: where
// taken jobs cannot be removed from the queue yet, because somebody holds a snapshot open,
// a lane is read from a watermark on, before which there was no job a moment ago. A more
// urgent job that comes behind the watermark's back is passed over until it ends: a
// second, at most ten (watermarks.go).
package claim
