// Package replication speaks PostgreSQL's replication protocol, as far as backups need it: it copies
// a running server's cluster, and follows the write-ahead log of the server while it is written.
//
// No program of PostgreSQL is needed for that. The server has to be 15 or newer, and the login has to
// be a superuser or to have REPLICATION.
package replication
