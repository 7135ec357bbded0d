// Package process runs a program with all that it starts as one process group: its lines
// are read as they come, and when it ends or is to end, the whole group does.
//
// A child that leaves the group, by setsid, outlives it, except on Linux, where a variable
// of its environment marks it. It cannot keep Run from returning.
//
// There is no limit of memory here: programs of agents reserve far more addresses than they
// use, so RLIMIT_AS ends them at once. The limit of the worker's own unit or container holds
// for them too.
package process
