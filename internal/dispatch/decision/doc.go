// Package decision compares the factories of a workspace for jobs that are given out, and keeps what
// came of it: which one got a job, and which one suited it best. Package score decides; this one reads
// what that needs, and writes and reads decisions.
package decision
