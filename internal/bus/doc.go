// Package bus carries messages between agents, people and the server.
//
// A message is written once and put into the inboxes of its addressees. An inbox holds the
// messages that its reader has not acknowledged: reading hands each out again, at most five
// times, and then it is a dead letter. So each message is processed at least once.
//
// Messages are read in the order of the log of events: by the number of the transaction
// that wrote them, up to the oldest one that still runs (ADR 3). Whoever has seen a
// position never misses a message below it, and acknowledging all up to a position removes
// nothing that was not handed out.
package bus
