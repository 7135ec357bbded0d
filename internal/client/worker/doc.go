// Package worker is a factory: it registers with a server, claims jobs, runs an engine on
// each in a repository of its own, and reports. It talks to the server by the API alone.
//
// An attempt goes through these states; a file in the state directory says so from the
// first to the last:
//
//	claimed   the lease is there; the agent's directory is made
//	running   the engine works; heartbeats, steps, log lines and usage are sent
//	ending    its work is committed, and the final report lies in the outbox
//	decided   the server took the report (the seat and the directory are free, and the
//	          branch is pushed until the origin decides), refused it for its form (a
//	          failure that says so takes its place), or refused it (the branch is
//	          quarantined, nothing is pushed)
//
// Whatever ends an attempt, its work is committed first: as the result where it is handed
// in, as work in progress everywhere else. What cannot be committed is moved to the rescue
// directory, where only a person removes it.
//
// A lease counts as ours only as long as the server's last answer about it says, reckoned
// from the moment that the call was sent, by a clock that also runs while the host sleeps.
// After that the engine is stopped, whether or not the server can be reached.
//
// A worker that was killed goes on under the same boot id: the reports in its outbox are
// sent, and attempts whose lease is still its own continue in their directories.
package worker
