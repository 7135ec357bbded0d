// Package joblog knows the lines that agents write while they work on a job: what a line
// is, how much of a job's log is kept, how it is read page by page, and how old lines are
// deleted. The holder of a lease writes lines; package dispatch does that.
package joblog
