// Package bus carries messages between agents, people and the server.
//
// A message is written once and put into the inboxes of those it is for. An inbox holds
// what its reader has not acknowledged: reading hands it out again and again, at most five
// times, and then it is a dead letter. So each message is processed at least once.
//
// Messages are read in the order of the log of events: by the number of the transaction
// that wrote them, up to the oldest one that still runs (ADR 3). Whoever has seen a
// position never misses one below it, and whoever acknowledges all up to a position takes
// out nothing that it has not been given.
package bus
