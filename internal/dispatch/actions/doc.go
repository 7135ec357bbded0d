// Package actions changes a job's status for a person: a job that nobody works on at
// once, one that is worked on by asking its agent.
package actions
