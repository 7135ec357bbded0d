// Package metrics counts what this process does, for a monitor. Every figure of a process is declared
// here and counted where it happens; what a database holds is read by coordinator/vitals.
//
// Counting takes an atomic addition: labels are resolved before the first one, and none is a job, a
// person, a workspace or a free text. Names and words are a contract: docs/operating.md lists them.
package metrics
