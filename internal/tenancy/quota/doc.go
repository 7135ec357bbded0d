// Package quota says how many requests a caller may send: a bucket for each
// token, agent, person or address, which fills at a steady rate. The buckets
// are of one process: several web processes allow several times as much.
package quota
