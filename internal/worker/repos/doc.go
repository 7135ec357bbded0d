// Package repos is git for the worker: which repositories a host offers, a worktree and a
// branch for each attempt, commits, what changed, pushing, and what is put aside or
// cleaned up. It runs the git program and never a repository's hooks.
//
// The branch of an attempt is fleet/KEY-eEPOCH. A job's key and its epoch are unique on a
// server, so no two attempts ever share one. Work of an attempt that lost its lease is
// renamed to fleet-quarantine/KEY-eEPOCH.
//
// What several attempts on one repository share (its branches and its list of worktrees) is
// changed under a lock of the host, which is never held while an agent works.
package repos
