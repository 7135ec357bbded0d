// Package webhooks sends the events of a workspace to addresses that its people name, as Standard
// Webhooks 1.0 has it.
//
// A webhook has a place in the log. The process that sends reads what follows it, at most maxPending
// events ahead of what was delivered, and makes a delivery of each that the webhook wants, in the
// transaction that moves the place on. A delivery is
//
//	pending    to be sent at next_at: at once, later after a try that failed
//	delivered  the receiver has answered 2xx within 15 seconds
//	failed     the last try has failed; a webhook that is enabled again tries it anew
//	skipped    a person left it out when the webhook was enabled again
//
// Of one job one delivery is under way at a time, in the order of the log; one that fails holds back
// later ones of the same job and webhook and nothing else. A delivery is sent at least once: what a try
// led to is noted after it, so that a process that dies in between has it sent again, with the same id.
//
// A webhook is
//
//	active    events are sent
//	paused    by a person: its place in the log stays
//	disabled  by the server, after an answer 410 or the last retry of a delivery: as paused, and
//	          people are told
//
// One process of a database sends, elected by package leadership; two that do send some deliveries
// twice, and note each once.
package webhooks
