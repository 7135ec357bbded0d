// Package passwords hashes passwords with argon2id and says which ones may be
// chosen. One hash is made at a time: askers wait in a queue, in turns by network,
// people who are known before strangers, and are refused where it is too long.
package passwords
