// Package repos is git for the worker: which repositories a host offers, a worktree and a
// branch for each attempt, commits, what changed, pushing, and what is put aside or
// cleaned up. It runs the git program.
//
// Of each repository the worker has a mirror of its own, which is fetched from the origin, or
// from the person's clone where there is none. The clone is read and never written, but for
// finished branches where it has no origin. Objects stay in a mirror as long as it stands:
// nothing prunes it.
//
// An attempt works in a directory with a repository of its own, .git, which borrows the
// mirror's objects. Its settings, hooks, branches and stash are the agent's. The worker's git
// never runs there: it names the mirror as its repository, the directory as its files and an
// index of the worker's own, reads the agent's branches as texts, and has a fixed environment
// and fixed settings, to which of the person's only those come that say the way to the origin.
//
// The branch of an attempt is fleet/KEY-DIGEST-eEPOCH, with a digest of the job's id: no two
// attempts of any servers share one. Work of an attempt that lost its lease is renamed to
// fleet-quarantine/KEY-DIGEST-eEPOCH. What could not be saved whole is moved to the rescue
// directory, where only a person removes it.
//
// What several attempts on one repository share is changed under a lock of the host, which is
// never held while an agent works.
package repos
