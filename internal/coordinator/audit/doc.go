// Package audit checks the promises that tables give one another: a job that is
// worked on has a lease, one that is ready stands in the queue, epochs have no
// gaps, and the log says what the job is. It only reads.
//
// Everything about a job is read by one statement, so that one moment is seen
// and a busy database raises no false alarm. Pages are bounded; between two
// pages the database goes on changing.
package audit
