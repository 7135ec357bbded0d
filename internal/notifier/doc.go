// Package notifier carries topics between the processes of one database, over a
// transport. A topic says "something changed here, look": it carries no data and may
// arrive twice. It may be lost, but where the transport knows of that, every subscriber
// is told to look again.
//
// Topics are gathered and sent together, after the transaction that they are about:
// NOTIFY, for one, takes a lock of the whole database at commit.
package notifier
