// Package life drives the whole life of jobs through the real HTTP API: random
// sequences against a small model of product.md's table, and recorded histories
// of clients with broken connections, checked for linearizability.
package life
