// Package db is the store's ground: the pool, the transactions, the migrations
// and the embedded server. It knows nothing of what is stored.
//
// The pool is private. Whoever wants to read or write opens a transaction with In, in
// one of five scopes, and the scope decides which rows there are:
//
//	Workspace  the rows of one workspace
//	Account    the memberships of one person and the workspaces they lead to
//	Token      the one access token with a hash
//	System     across workspaces, the few columns that show a loop where work is
//	None       tables that belong to no workspace
//
// The walls are policies of the database (db/schema). Every transaction takes
// its role and its settings with it in the round trip of its first statement, so
// no state of a connection decides what a query sees. The error of a query that sqlc
// wrote begins with its name.
//
// Errors leave this package through Fault. A transaction is never repeated
// here: only the caller knows whether doing it twice is harmless.
package db
