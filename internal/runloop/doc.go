// Package runloop runs background work: loops, which do something at intervals, and
// tasks, which run until they are stopped. Each has a name, ends with its context,
// survives its own panics, and logs a failure once, not every second.
package runloop
