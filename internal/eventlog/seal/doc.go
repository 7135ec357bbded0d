// Package seal shows when the log of events was cut or changed by a hand in the
// database.
//
// The sealer, a loop of the coordinator, writes down the SHA-256 of each event in
// blocks, behind the tail of the log and in the order of commits, in transactions
// of its own. Each block holds the digest of the one before it and is signed with a
// key derived from the server's secret key, which the database does not have.
//
// Blocks that are taken away together with their events leave a shorter, whole
// chain. A mark outside the database therefore says how far the chain reached: in a
// file of the data directory, or at an address.
//
// Compaction and the deletion of jobs replace events by one that sums them up. They
// write a signed fold in the same transaction, which shows Verify that this was
// done on purpose.
package seal
