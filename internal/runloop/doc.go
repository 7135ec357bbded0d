// Package runloop starts and stops what goes on in the background: loops, which
// do something every now and then, and tasks, which go on until they are
// stopped. Each has a name, ends with its context, survives its own panics, and
// says once, not every second, that it fails.
package runloop
