// Package notifier carries topics between the processes of one database, over
// LISTEN and NOTIFY. A topic says "something changed here, look": it carries no
// data and may arrive twice. It may be lost, but then every subscriber is told to
// look again.
//
// Each process has two connections of its own for it, one to listen and one to
// notify: NOTIFY takes a lock of the whole database at commit, so topics are
// gathered and sent together, after the transaction that they are about.
//
// The states of the listening connection: connecting, listening (every
// subscriber is called once with its bare prefix), lost, connecting again.
package notifier
