// Package proof looks at the whole database by itself after another PostgreSQL has taken over: a standby
// that was promoted, a restore to a point in time, a copy in another cluster.
//
// The rows say which PostgreSQL they lie in (database_identity). A server that finds itself on another
// one writes down that a proof is due, and one server after the other until it is done runs audit and
// verify-log over everything. Each server compares what it has seen of the logs (packages witness and
// seal) with what is there, and writes down what is missing as a loss of its workspace, with an event in
// its log. A loss stands in Needs you until a person has noted it.
package proof
