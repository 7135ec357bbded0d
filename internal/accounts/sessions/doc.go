// Package sessions keeps the sessions of browsers. A person lists and ends the own
// ones; an owner ends those of a member, through package members.
//
// A session is live until it ends or expires, and an ended one stays ended: its
// row remains as a tombstone until it would have expired, so that a request that
// was under way at log-out cannot write it back. A session of an earlier epoch of
// its account is ended too.
package sessions
