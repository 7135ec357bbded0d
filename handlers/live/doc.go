// Package live keeps open pages up to date over server-sent events.
//
// A Page says how one kind of page is found, opened and changed; the Registry
// holds them all. The Hub runs one stream for all readers who see the same: it
// makes each message once and puts it into the queue of every subscriber. Serve is
// the loop of one connection, whatever feeds it: it sends heartbeats, ends with the
// session, the role, the server or the stream's time, and bounds how many are open.
// The log of a job feeds the same loop.
package live
