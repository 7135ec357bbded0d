// Package attempts reads what was tried on jobs: one attempt is one lease from its claim to
// its end. Package dispatch writes them.
package attempts
