// Package enrol lets agents in and ends them: registration with an enrolment token, the
// factory that they describe, termination and cut-off.
//
// A factory and an agent belong to the enrolment token that registered them; another
// token takes them over where it reaches at least as far. A boot that replaces another
// one, and an end, give back the jobs that the agent holds.
package enrol
