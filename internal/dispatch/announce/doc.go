// Package announce carries offers of jobs to their factories over a broker, which keeps each of them
// and delivers it again until it has ended. It only adds to the wake-ups and the rows of package offer:
// with every message lost, jobs are given out later and none is lost.
//
// An offer is announced once and then goes from server to server: the one that it is delivered to wakes
// the claims of its factory at all servers. Whoever ends it lets all servers know, and the one that has
// the delivery acknowledges it. What was delivered in vain as often as it may is a dead offer, which
// people see.
package announce
