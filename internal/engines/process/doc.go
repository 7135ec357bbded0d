// Package process runs a program with all that it starts as one process group: its lines
// are read as they come, and when it ends or is to end, the whole group does.
//
// A child that leaves the group, by setsid, outlives it. It cannot keep Run from
// returning.
package process
