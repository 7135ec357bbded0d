package repositories

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// more gives the origin another commit, which the clone does not know.
func more(r *repository) {
	at := r.other("colleague")
	r.git(r.host, "clone", "-q", r.origin(), at)
	r.put(at, "colleague.txt", "hello\n", 0o600)
	r.commit(at, "Say hello")
	r.git(at, "push", "-q", "origin", "HEAD")
}

// private is work of the person's own, committed and not.
func private(r *repository) {
	r.put(r.clone(), "private.txt", "mine\n", 0o600)
	r.commit(r.clone(), "Mine alone")
	r.put(r.clone(), "staged.txt", "mine\n", 0o600)
	r.git(r.clone(), "add", "staged.txt")
	r.put(r.clone(), "README.md", "# Changed by me\n", 0o600)
	r.put(r.clone(), "untracked.txt", "mine\n", 0o600)
}

// conflict leaves a branch "theirs" that does not fit main, which is checked out.
func conflict(r *repository) {
	r.git(r.clone(), "checkout", "-q", "-b", "theirs")
	r.put(r.clone(), "src/main.txt", "eins\n", 0o600)
	r.commit(r.clone(), "In German")
	r.git(r.clone(), "checkout", "-q", "main")
	r.put(r.clone(), "src/main.txt", "un\n", 0o600)
	r.commit(r.clone(), "In French")
}

// buildAlone makes a clone without an origin.
func (r *repository) buildAlone() {
	r.build()
	r.git(r.clone(), "remote", "remove", "origin")
}

// empty is a clone of an origin in which nothing is committed.
func empty(r *repository) {
	r.git(r.host, "init", "-q", "--bare", "-b", "main", r.origin())
	r.atHome()
	r.git(r.host, "clone", "-q", r.origin(), r.clone())
}

// refusing is a directory's hooks, which stop everything that runs them.
func refusing(r *repository) {
	for _, name := range []string{"pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "pre-push", "post-checkout", "post-rewrite",
		"reference-transaction", "post-index-change", "pre-auto-gc", "post-merge"} {
		r.hook(filepath.Join(r.clone(), ".git"), name, "echo $0 >> @MARK@; exit 1")
	}
}

// clones returns the states that people leave their clones in, and the ways to make one.
func clones() []situation {
	return slices.Concat(heads(), defaultBranches(), personsWork(), cloneOptions(), localClones(), layouts(), refNames(), origins())
}

// heads are detached heads, and branches on which nothing is committed yet.
func heads() []situation {
	return []situation{
		{name: "detached-head", prepare: func(r *repository) { r.git(r.clone(), "checkout", "-q", "--detach", "HEAD~1") }, agent: edits, adds: edited()},
		{name: "detached-without-origin-head", prepare: func(r *repository) {
			r.git(r.clone(), "checkout", "-q", "--detach")
			r.git(r.clone(), "remote", "set-head", "origin", "--delete")
		}, agent: edits, adds: edited()},
		{name: "detached-alone", build: (*repository).buildAlone, local: true, prepare: func(r *repository) { r.git(r.clone(), "checkout", "-q", "--detach") },
			agent: edits, adds: edited()},
		{name: "detached-and-no-branch", build: (*repository).buildAlone, local: true, prepare: func(r *repository) {
			r.git(r.clone(), "checkout", "-q", "--detach")
			r.git(r.clone(), "branch", "-D", "main")
		}, base: "HEAD", agent: edits, adds: edited()},
		{name: "unborn", build: empty, bare: true, agent: "echo first > first.txt", adds: map[string]entry{"first.txt": file("first\n")}},
		{name: "unborn-alone", bare: true, local: true, build: func(r *repository) { r.git(r.host, "init", "-q", "-b", "trunk", r.clone()) },
			agent: "echo first > first.txt", adds: map[string]entry{"first.txt": file("first\n")}},
		{name: "unborn-here-only", build: func(r *repository) {
			empty(r)
			at := r.other("first")
			r.git(r.host, "clone", "-q", r.origin(), at)
			r.put(at, "README.md", "# Ledger\n", 0o600)
			r.commit(at, "Begin")
			r.git(at, "push", "-q", "origin", "HEAD:main")
		}, agent: "cat README.md > copy.md", adds: map[string]entry{"copy.md": file("# Ledger\n")}},
	}
}

// defaultBranches are clones whose origin has another default branch than they know.
func defaultBranches() []situation {
	return []situation{
		{name: "default-branch-renamed", base: "trunk", prepare: func(r *repository) {
			more(r)
			r.git(r.origin(), "branch", "-m", "main", "trunk")
		}, agent: "cat colleague.txt > seen.txt", adds: map[string]entry{"seen.txt": file("hello\n")}},
		{name: "default-branch-moved", base: "release/2.0", prepare: func(r *repository) {
			r.git(r.origin(), "branch", "release/2.0", "main~1")
			r.git(r.origin(), "symbolic-ref", "HEAD", "refs/heads/release/2.0")
		}, agent: "ls > seen.txt", adds: map[string]entry{"seen.txt": file("README.md\nseen.txt\n")}},
		{name: "default-branch-is-gone", base: "dev", prepare: func(r *repository) {
			r.git(r.origin(), "branch", "old", "main~1")
			r.git(r.origin(), "update-ref", "refs/heads/dev", "main")
			r.git(r.origin(), "update-ref", "-d", "refs/heads/main")
			r.git(r.clone(), "branch", "-q", "-m", "main", "dev")
		}, agent: edits, adds: edited()},
		{name: "no-default-branch", prepare: func(r *repository) {
			r.git(r.origin(), "branch", "old", "main~1")
			r.git(r.origin(), "update-ref", "refs/heads/dev", "main")
			r.git(r.origin(), "update-ref", "-d", "refs/heads/main")
		}, agent: edits, fails: cloneFailed, says: []string{"default branch"}},
	}
}

// personsWork are clones in which a person has work of their own, finished or not.
func personsWork() []situation {
	return []situation{
		{name: "on-another-branch", prepare: func(r *repository) {
			r.git(r.clone(), "checkout", "-q", "-b", "topic")
			private(r)
		}, agent: edits, adds: edited()},
		{name: "behind", prepare: more, agent: "cat colleague.txt > seen.txt", adds: map[string]entry{"seen.txt": file("hello\n")}},
		{name: "ahead-and-dirty", prepare: private, agent: edits, adds: edited()},
		{name: "dirty-alone", build: (*repository).buildAlone, local: true, prepare: func(r *repository) {
			r.put(r.clone(), "README.md", "# Changed by me\n", 0o600)
			r.git(r.clone(), "add", "README.md")
			r.put(r.clone(), "untracked.txt", "mine\n", 0o600)
		}, agent: edits, adds: edited()},
		{name: "stash", prepare: func(r *repository) {
			r.put(r.clone(), "secret-plans.txt", "mine\n", 0o600)
			r.git(r.clone(), "stash", "push", "-q", "-u")
		}, agent: edits + "; git stash pop || true; git stash list > stashes.txt",
			adds: map[string]entry{"src/main.txt": file("one\ntwo\nthree\nfour\n"), "notes.txt": file("new\n"), "stashes.txt": file("")}},
		{name: "in-a-merge", prepare: func(r *repository) { conflict(r); _, _ = r.tryGit(r.clone(), "merge", "theirs") }, agent: edits, adds: edited()},
		{name: "in-a-rebase", prepare: func(r *repository) { conflict(r); _, _ = r.tryGit(r.clone(), "rebase", "theirs") }, agent: edits, adds: edited()},
		{name: "in-a-cherry-pick", prepare: func(r *repository) { conflict(r); _, _ = r.tryGit(r.clone(), "cherry-pick", "theirs") },
			agent: edits, adds: edited()},
		{name: "in-a-bisect", prepare: func(r *repository) { r.git(r.clone(), "bisect", "start", "HEAD", "HEAD~1") }, agent: edits, adds: edited()},
		{name: "index-locked", prepare: func(r *repository) { r.put(r.clone(), ".git/index.lock", "", 0o600) }, agent: edits, adds: edited()},
		{name: "worktrees-of-the-person", prepare: func(r *repository) {
			r.git(r.clone(), "worktree", "add", "-q", "-b", "topic", r.other("worktree"))
			r.put(r.other("worktree"), "topic.txt", "mine\n", 0o600)
			r.git(r.clone(), "worktree", "add", "-q", "--detach", r.other("moved"))
			if err := os.Rename(r.other("moved"), r.other("moved-away")); err != nil { // on another disk, say
				r.t.Fatal(err)
			}
		}, agent: edits, adds: edited()},
	}
}

// cloneOptions returns what git clone and git init make with their options.
func cloneOptions() []situation {
	return []situation{
		{name: "shallow", build: func(r *repository) {
			r.build()
			r.cloneAgain("--depth", "1", "file://"+r.origin())
		}, agent: edits, adds: edited()},
		{name: "single-branch", build: func(r *repository) {
			r.build()
			r.git(r.origin(), "branch", "old", "main~1")
			r.cloneAgain("--single-branch", "--branch", "old", r.origin())
		}, agent: edits, adds: edited()},
		{name: "bare", build: func(r *repository) {
			r.place = r.name + ".git"
			r.build()
			r.cloneAgain("--bare", r.origin())
		}, agent: edits, adds: edited()},
		{name: "bare-alone", local: true, build: func(r *repository) {
			r.place = r.name + ".git"
			r.build()
			r.cloneAgain("--bare", r.origin())
			r.git(r.clone(), "remote", "remove", "origin")
		}, agent: edits, adds: edited()},
		{name: "mirror", build: func(r *repository) {
			r.place = r.name + ".git"
			r.build()
			r.cloneAgain("--mirror", r.origin())
		}, agent: edits, adds: edited()},
		{name: "partial", build: func(r *repository) {
			r.build()
			r.git(r.origin(), "config", "uploadpack.allowFilter", "true")
			r.git(r.origin(), "config", "uploadpack.allowAnySHA1InWant", "true")
			r.cloneAgain("--filter=blob:none", "--no-checkout", "file://"+r.origin())
		}, agent: edits, adds: edited()},
		{name: "sparse", prepare: func(r *repository) { r.git(r.clone(), "sparse-checkout", "set", "src") }, agent: "cat README.md > seen.txt",
			adds: map[string]entry{"seen.txt": file("# Ledger\n")}},
		{name: "shared-objects", build: func(r *repository) {
			r.build()
			r.cloneAgain("--shared", r.origin())
		}, agent: edits, adds: edited()},
		{name: "borrowed-objects-alone", local: true, build: func(r *repository) {
			r.build()
			r.cloneAgain("--shared", r.origin())
			r.git(r.clone(), "remote", "remove", "origin")
		}, agent: edits, adds: edited()},
		{name: "separate-git-dir", prepare: func(r *repository) {
			r.git(r.clone(), "init", "-q", "--separate-git-dir", r.other("git"))
		}, agent: edits, adds: edited()},
		{name: "sha256", format: "sha256", agent: edits, adds: edited()},
		{name: "sha256-alone", format: "sha256", build: (*repository).buildAlone, local: true, agent: edits, adds: edited()},
	}
}

// localClones are clones without an origin, and those that have hooks.
func localClones() []situation {
	return []situation{
		{name: "alone", build: (*repository).buildAlone, local: true, agent: edits, adds: edited()},
		{name: "alone-with-hooks", build: (*repository).buildAlone, local: true, prepare: refusing, agent: edits, adds: edited()},
		{name: "alone-and-bare-worktree", build: (*repository).buildAlone, local: true, prepare: func(r *repository) {
			r.git(r.clone(), "config", "receive.denyCurrentBranch", "updateInstead")
			r.git(r.clone(), "config", "receive.denyDeletes", "true")
		}, agent: edits, adds: edited()},
		{name: "hooks", prepare: refusing, agent: edits, adds: edited()},
	}
}

// layouts are clones that are elsewhere, packed, replaced or broken.
func layouts() []situation {
	return []situation{
		{name: "is-a-worktree", build: func(r *repository) {
			r.build()
			if err := os.Rename(r.clone(), r.other("clone")); err != nil {
				r.t.Fatal(err)
			}
			r.git(r.other("clone"), "worktree", "add", "-q", "-b", "topic", r.clone())
		}, agent: edits, adds: edited()},
		{name: "linked", build: func(r *repository) {
			r.build()
			if err := os.Rename(r.clone(), r.other("clone")); err != nil {
				r.t.Fatal(err)
			}
			if err := os.Symlink(r.other("clone"), r.clone()); err != nil {
				r.t.Fatal(err)
			}
		}, agent: edits, adds: edited()},
		{name: "packed", prepare: func(r *repository) { r.git(r.clone(), "gc", "-q", "--prune=now") }, agent: edits, adds: edited()},
		{name: "replaced-objects", prepare: func(r *repository) {
			text := r.blobName("one\ntwo\nthree\n")
			r.put(r.clone(), "other", "replaced\n", 0o600)
			r.git(r.clone(), "replace", text, r.git(r.clone(), "hash-object", "-w", "other"))
		}, agent: "cat src/main.txt > seen.txt", adds: map[string]entry{"seen.txt": file("one\ntwo\nthree\n")}},
		{name: "broken-objects", build: (*repository).buildAlone, local: true, prepare: func(r *repository) {
			head := r.git(r.clone(), "rev-parse", "HEAD")
			if err := os.Remove(filepath.Join(r.clone(), ".git/objects", head[:2], head[2:])); err != nil {
				r.t.Fatal(err)
			}
		}, agent: edits, fails: cloneFailed},
	}
}

// refNames are branches and tags that could be taken for others.
func refNames() []situation {
	return []situation{
		{name: "branch-named-fleet", prepare: func(r *repository) { r.git(r.clone(), "branch", "fleet") }, agent: edits, adds: edited()},
		{name: "ambiguous-names", prepare: func(r *repository) {
			before := r.git(r.clone(), "rev-parse", "main~1")
			r.git(r.clone(), "branch", "origin/main", before)
			r.git(r.clone(), "update-ref", "refs/heads/HEAD", before)
			r.git(r.clone(), "tag", "main", before)
			r.git(r.clone(), "push", "-q", "origin", "refs/tags/main")
		}, base: "refs/heads/main", agent: edits, adds: edited()},
		{name: "branches-of-another-server", prepare: othersBranches, agent: edits, adds: edited()},
		{name: "branches-of-another-server-alone", build: (*repository).buildAlone, local: true, prepare: othersBranches, agent: edits, adds: edited()},
	}
}

// origins returns the ways in which a clone names its origin, and how that one behaves.
func origins() []situation {
	return []situation{
		{name: "origin-is-a-file-url", prepare: func(r *repository) { r.git(r.clone(), "remote", "set-url", "origin", "file://"+r.origin()) },
			agent: edits, adds: edited()},
		{name: "origin-is-relative", prepare: func(r *repository) {
			r.git(r.clone(), "remote", "set-url", "origin", "../../origins/"+r.name+".git")
		}, agent: edits, adds: edited()},
		{name: "origin-fetches-oddly", prepare: func(r *repository) {
			r.git(r.clone(), "config", "remote.origin.fetch", "+refs/heads/nothing:refs/remotes/origin/nothing")
			r.git(r.clone(), "config", "remote.origin.push", "refs/heads/*:refs/heads/other/*")
			r.git(r.clone(), "config", "remote.origin.mirror", "true")
		}, agent: edits, adds: edited()},
		{name: "origin-checks-objects", prepare: func(r *repository) {
			r.git(r.origin(), "config", "receive.fsckObjects", "true")
			r.git(r.origin(), "config", "receive.denyNonFastForwards", "true")
			r.git(r.origin(), "config", "receive.denyDeletes", "true")
		}, agent: edits, adds: edited()},
		{name: "origin-comes-back", prepare: func(r *repository) {
			if err := os.Rename(r.origin(), r.other("origin")); err != nil {
				r.t.Fatal(err)
			}
		}, ended: func(r *repository) {
			if err := os.Rename(r.other("origin"), r.origin()); err != nil {
				r.t.Fatal(err)
			}
		}, bare: true, whole: true, agent: edits, adds: all(edited()), pushes: []string{"refs/heads/main"}},
	}
}

// all returns what the base has, and more.
func all(adds map[string]entry) map[string]entry {
	whole := map[string]entry{"README.md": file("# Ledger\n"), "src/main.txt": file("one\ntwo\nthree\n"), "bin/run": program("#!/bin/sh\necho run\n"),
		"latest": link("README.md")}
	for name, e := range adds {
		whole[name] = e
	}
	return whole
}

// cloneAgain replaces the clone by another one.
func (r *repository) cloneAgain(args ...string) {
	r.t.Helper()
	if err := os.RemoveAll(r.clone()); err != nil {
		r.t.Fatal(err)
	}
	r.git(r.host, append(append([]string{"clone", "-q"}, args...), r.clone())...)
}

// othersBranches are those that another server's workers gave its own jobs, whose keys are the
// same as ours.
func othersBranches(r *repository) {
	at := r.origin()
	if _, err := r.tryGit(r.clone(), "remote", "get-url", "origin"); err != nil {
		at = r.clone()
	}
	var updates strings.Builder
	base := r.git(at, "rev-parse", "refs/heads/main~1")
	for n := range 400 {
		updates.WriteString(base + " refs/heads/fleet/FB-" + decimal(n) + "-e1\n")
	}
	packed := at
	if at == r.clone() {
		packed = filepath.Join(at, ".git")
	}
	r.git(at, "pack-refs", "--all")
	known, err := os.ReadFile(filepath.Join(packed, "packed-refs"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.put(packed, "packed-refs", strings.Replace(string(known), " sorted ", " ", 1)+updates.String(), 0o600)
}
