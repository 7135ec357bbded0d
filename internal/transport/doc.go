// Package transport carries wake-ups between the processes of one database: over
// LISTEN and NOTIFY of the database itself, over NATS, or not at all.
//
// A message is a hint. It may be lost, come late or twice; what it is about is in
// the database, and whoever waits for it looks there every so often by itself. So
// a transport keeps nothing, confirms nothing to the sender of a topic, and after
// a broken connection only says that something may have been lost.
//
// The states of a transport: connecting, connected (the receiver is called each
// time that it becomes so), disconnected, connecting again.
package transport
