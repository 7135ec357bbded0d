// Package life drives the whole life of jobs through the real HTTP API: random
// sequences against a small model of the table in docs/concepts.md, and recorded histories
// of clients with broken connections, checked for linearizability.
package life
