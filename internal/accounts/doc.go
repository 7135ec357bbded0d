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
// An account without a password cannot log in with one. Its owner gives it one
// where a provider let him in (SetPassword), and a set-up link does:
//
//	made -> used      by SetUp, once
//	made -> replaced  by a newer link of the same account
//	made -> expired   after a week
//
// An invitation's link makes its holder a member, with an account that is there
// or with a new one:
//
//	open -> used      by AcceptInvitation, JoinAsNew or JoinAs, once
//	open -> revoked   by RevokeInvitation, by a newer link for the same e-mail, or
//	                  with the role of who gave it
//	open -> expired   after a week
//
// Members of a workspace change under one lock, and one of them is an owner.
//
// A provider (OpenID Connect) may vouch for a person: an identity is issuer and
// subject, linked to at most one account, and an account has at most one at each
// provider.
//
// A session is live until it ends or expires, and an ended one stays ended: its
// row remains as a tombstone until it would have expired, so that a request that
// was under way at log out cannot write it back.
//
// An agent's token says by itself who asks and is good for an hour. What ends one
// before its time (a revoked enrolment token, a later boot, a person who cuts the
// agent off) stands in a small table that every process keeps in memory and does
// not believe for longer than a few seconds; see Watch.
package accounts
