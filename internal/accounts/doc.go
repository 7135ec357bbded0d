// Package accounts knows who people, machines and browsers are: log in, set-up
// links, sessions, access tokens, the short tokens of agents, and the first
// workspace with its owner. Every answer to "who is asking?" is a
// tenancy.Principal.
//
// What is secret is stored so that reading the database gives nothing to log in
// with: passwords as argon2id, everything random (session, access token, set-up
// link) as its SHA-256. Failed log ins are counted under an HMAC, not under the
// address.
//
// An account without a password cannot log in. A set-up link gives it one:
//
//	made -> used      by SetUp, once
//	made -> replaced  by a newer link of the same account
//	made -> expired   after a week
//
// A session is live until it ends or expires, and an ended one stays ended: its
// row remains as a tombstone until it would have expired, so that a request that
// was under way at log out cannot write it back.
package accounts
