// Package comments keeps what people say about lines of work that was handed in, and what agents answer. A thread is
// open until somebody resolves it: a person, or the agent whose work it is about, by its answer. Work that goes back
// to its agent goes with all open threads.
//
// A comment belongs to a line of a commit. Where that line stands in what was handed in last is worked out from the
// patches whenever it is asked for (see patches.Follow); nothing of it is stored.
//
// Whatever changes the comments of a job locks the job first.
package comments
