// Package lease holds what every part of dispatch knows of a lease: its name and its
// directives, why an agent's call is refused, how it ends, and what follows the commit
// of that.
//
// A lease lasts until a time of the database's clock, under an epoch that is one higher
// than any before. It ends once: by its agent's call, by a person, or by the reaper. Its
// attempt keeps the outcome, so that the agent's call can be answered again and any other
// call learns why it comes too late.
//
// Locks are taken in the order factory, agent, job, lease.
package lease
