// Package recovery is what the coordinator's loops do, and what people can ask for at
// once: leases that lapsed are taken back, holders past their estimate warned and then
// timed out, jobs whose time has come or that nothing holds any more made claimable,
// and jobs that wait for one another failed.
//
// All of it is safe if several processes do it at once: each job is locked and looked at
// again before it is changed.
package recovery
