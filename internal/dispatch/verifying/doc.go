// Package verifying ends verifications: a job of kind verify is made by package report in the transaction
// that hands work in, and is claimed like any other; here it ends once nobody wants to know any more.
//
//	in review, the same attempt   -> the verify job goes on
//	decided about, or other work  -> the verify job is cancelled
//	the verify job has ended      -> the verification is closed
//
// All of it is safe in several processes at once, and after a crash between any two steps: decisions
// go by the statuses of both jobs.
package verifying
