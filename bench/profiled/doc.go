// Command profiled runs the Fleetboard server as cmd/web does, with a profile of
// its processor time, and at its end one of what it allocated, written to the
// files that begin with PROFILED_TO (.cpu and .allocs). It is for the bench.
package main
