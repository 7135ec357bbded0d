// Package waitlist is the claims of this process that wait for a job or a seat, in
// memory only: a waiting claim holds no connection.
//
// Claims that serve the same lanes stand in one queue, the longest waiting first. A job
// that becomes ready wakes one of them, and a claim that got one wakes two more. A wait
// registers first, compares the versions of its lanes with those from before they were
// read, and only then sleeps, so that no wake-up can fall in between.
package waitlist
