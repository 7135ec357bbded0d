// Package tokens makes, checks and revokes access tokens. People make and revoke
// their own; owners and admins (RunFleet) make enrolment tokens and revoke all of
// the workspace.
//
// A person's and an enrolment token are looked up by their hash. An agent's token
// is signed, says by itself who calls and is good for an hour. What ends one before
// its time (a revoked enrolment token, a later boot, a person who cuts the agent
// off) stands in a small table that every process keeps in memory and does not
// believe for longer than a few seconds; see Watch.
package tokens
