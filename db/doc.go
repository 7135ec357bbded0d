// Package db is the store's ground: the pool, the transactions, the migrations
// and the embedded server. It knows nothing of what is stored.
//
// The pool is private. Whoever wants to read or write opens a transaction of
// one of five kinds, and the kind decides which rows there are:
//
//	InWorkspace  the rows of one workspace
//	InAccount    the memberships of one person and the workspaces they lead to
//	InToken      the one access token with a hash
//	InSystem     across workspaces, the few columns that tell a loop where work is
//	InNone       tables that belong to no workspace
//
// The walls are policies of the database (db/schema). Every transaction takes
// its role and its settings with it in the round trip of its first statement, so
// no state of a connection decides what a query sees. Once… is the same kind for
// one statement that only reads.
//
// Errors leave this package through Fault. A transaction is never repeated
// here: only the caller knows whether doing it twice is harmless.
package db
