// Command river lets River, a queue that works in the process of its users, do
// what Fleetboard's bench measures, on the same PostgreSQL: `river URL JOBS`
// inserts and works that many jobs which do nothing, and prints the jobs a
// second of each as a JSON object. It is a module of its own, so that
// Fleetboard does not depend on River.
package main
