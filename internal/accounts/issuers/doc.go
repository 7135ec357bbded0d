// Package issuers keeps which issuers of tokens a workspace trusts, so that a pod or a runner registers
// as an agent by the token that its platform gives it, without a secret of ours.
//
// A trusted issuer has an enrolment token that nobody holds: what its agents may do, and how they are
// cut off, is as of any other enrolment token. A token registers one agent for as long as it is good.
package issuers
