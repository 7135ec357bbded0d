// Package idempotency lets a request be sent again: it has its effect once, and the
// repetition is given what the first one led to. The key of a request is written in the
// transaction of its effect, so that both are saved or neither is, whatever process dies
// in between; nothing is kept of a request that was refused.
//
// A key holds for a day, for one caller of a workspace: a person, an agent or an enrolment
// token.
package idempotency
