package repositories

// agents returns what agent programs do with git by themselves, and what they leave.
func agents() []situation {
	new1 := map[string]entry{"notes.txt": file("new\n")}
	return []situation{
		{name: "makes-a-branch", agent: "git checkout -q -b feature/notes; echo new > notes.txt; git add -A; git commit -qm Notes", adds: new1},
		{name: "makes-a-branch-and-leaves-more", agent: "git checkout -q -b feature; echo new > notes.txt; git add -A; git commit -qm Notes; " +
			"echo four >> src/main.txt", adds: edited()},
		{name: "renames-its-branch", agent: "git branch -m mine; echo new > notes.txt; git add -A; git commit -qm Notes", adds: new1},
		{name: "detaches", agent: "git checkout -q --detach; echo new > notes.txt; git add -A; git commit -qm Notes", adds: new1},
		{name: "goes-back-from-its-branch", agent: "git checkout -q -b side; echo side > side.txt; git add -A; git commit -qm Side; " +
			"git checkout -q -; echo new > notes.txt", adds: new1, says: []string{"side"}},
		{name: "only-on-a-branch-it-left", agent: "git checkout -q -b lonely; echo side > side.txt; git add -A; git commit -qm Side; git checkout -q -",
			nothing: true, says: []string{"lonely"}},
		{name: "merges-its-branches", agent: "b=$(git symbolic-ref --short HEAD || echo HEAD); git checkout -q -b a; echo new > notes.txt; git add -A; " +
			"git commit -qm A; git checkout -q -b b HEAD~1; echo b > b.txt; git add -A; git commit -qm B; git merge -q --no-edit a",
			adds: map[string]entry{"notes.txt": file("new\n"), "b.txt": file("b\n")}},
		{name: "amends-the-base", agent: "echo new > notes.txt; git add -A; git commit -q --amend -m 'Better'", adds: new1},
		{name: "squashes-the-base", agent: "git reset -q --soft HEAD~1; echo new > notes.txt; git add -A; git commit -qm 'All in one'", adds: new1},
		{name: "resets-to-before-the-base", agent: "git reset -q --hard HEAD~1; echo new > notes.txt", whole: true,
			adds: map[string]entry{"README.md": file("# Ledger\n"), "notes.txt": file("new\n")}},
		{name: "rebases", prepare: func(r *repository) { r.git(r.origin(), "branch", "old", "main~1") },
			agent: "echo new > notes.txt; git add -A; git commit -qm Notes; git rebase -q --onto HEAD~2 HEAD~1", whole: true,
			adds: map[string]entry{"README.md": file("# Ledger\n"), "notes.txt": file("new\n")}},
		{name: "begins-anew", agent: "git checkout -q --orphan fresh; git rm -rfq .; echo new > notes.txt; git add -A; git commit -qm Fresh", whole: true,
			adds: new1},
		{name: "on-an-unborn-branch", agent: "git checkout -q --orphan fresh; echo new > notes.txt", adds: new1},
		{name: "reverts-all", agent: "echo new > notes.txt; git add -A; git commit -qm Notes; git revert --no-edit HEAD >/dev/null; echo new > notes.txt", adds: new1},
		{name: "commits-nothing", agent: "git commit -q --allow-empty -m Empty; echo new > notes.txt", adds: new1},
		{name: "deletes-git", agent: "rm -rf .git; echo new > notes.txt", adds: new1},
		{name: "commits-and-deletes-git", agent: "echo four >> src/main.txt; git commit -qam Four; rm -rf .git; echo new > notes.txt", adds: edited()},
		{name: "git-is-a-file", agent: "rm -rf .git; echo junk > .git; echo new > notes.txt", adds: new1},
		{name: "git-is-a-directory-of-nothing", agent: "rm -rf .git; mkdir .git; echo new > notes.txt", adds: new1},
		{name: "inits-anew", agent: "rm -rf .git; git init -q; echo new > notes.txt; git add -A; git commit -qm 'Begin again'", adds: new1},
		{name: "inits-again", agent: "git init -q; echo new > notes.txt", adds: new1},
		{name: "leaves-index-lock", agent: `d=$(git rev-parse --git-dir); touch "$d/index.lock" "$d/HEAD.lock" "$d/config.lock"; echo new > notes.txt`, adds: new1},
		{name: "breaks-its-index", agent: `d=$(git rev-parse --git-dir); echo junk > "$d/index"; echo new > notes.txt`, adds: new1},
		{name: "breaks-its-head", agent: `d=$(git rev-parse --git-dir); echo junk > "$d/HEAD"; echo new > notes.txt`, adds: new1},
		{name: "breaks-its-config", agent: `d=$(git rev-parse --git-dir); printf '[core\nbroken' > "$d/config"; echo new > notes.txt`, adds: new1},
		{name: "deletes-its-objects", agent: `echo four >> src/main.txt; git commit -qam Four; d=$(git rev-parse --git-dir); rm -rf "$d/objects"; echo new > notes.txt`,
			adds: edited()},
		{name: "clones-inside", agent: "git clone -q @ORIGIN@ inner; echo new > notes.txt", adds: map[string]entry{"notes.txt": file("new\n"),
			"inner/README.md": file("# Ledger\n"), "inner/src/main.txt": file("one\ntwo\nthree\n"),
			"inner/bin/run": program("#!/bin/sh\necho run\n"), "inner/latest": link("README.md")}},
		{name: "inits-inside", agent: "git init -q inner; echo in > inner/in.txt; echo new > notes.txt",
			adds: map[string]entry{"notes.txt": file("new\n"), "inner/in.txt": file("in\n")}},
		{name: "inits-inside-and-commits", agent: "git init -q a/b; cd a/b; echo in > in.txt; git add -A; git commit -qm In; echo more > more.txt; cd ../..; " +
			"echo new > notes.txt", adds: map[string]entry{"notes.txt": file("new\n"), "a/b/in.txt": file("in\n"), "a/b/more.txt": file("more\n")}},
		{name: "adds-a-worktree-inside", agent: "git worktree add -q inner HEAD~1; echo in > inner/in.txt; echo new > notes.txt",
			adds: new1, says: []string{"inner"}},
		{name: "stashes", agent: "echo lost > lost.txt; git stash push -q -u; echo new > notes.txt", adds: new1, says: []string{"stash"}},
		{name: "stashes-and-pops", agent: "echo new > notes.txt; git stash push -q -u; git stash pop -q", adds: new1},
		{name: "leaves-a-conflict", agent: "git checkout -q -b a; echo A > src/main.txt; git commit -qam A; git checkout -q -b b HEAD~1; " +
			"echo B > src/main.txt; git commit -qam B; git merge -q a || true; echo new > notes.txt",
			adds: map[string]entry{"notes.txt": file("new\n"), "src/main.txt": file("<<<<<<< HEAD\nB\n=======\nA\n>>>>>>> a\n")}},
		{name: "leaves-a-rebase", agent: "git checkout -q -b a; echo A > src/main.txt; git commit -qam A; git checkout -q -b b HEAD~1; " +
			"echo B > src/main.txt; git commit -qam B; git rebase -q a || true; echo new > notes.txt; echo AB > src/main.txt",
			adds: map[string]entry{"notes.txt": file("new\n"), "src/main.txt": file("AB\n")}},
		{name: "assumes-unchanged", agent: "git update-index --assume-unchanged src/main.txt; echo four >> src/main.txt; " +
			"git update-index --skip-worktree README.md; echo more >> README.md",
			adds: map[string]entry{"src/main.txt": file("one\ntwo\nthree\nfour\n"), "README.md": file("# Ledger\nmore\n")}},
		{name: "splits-its-index", agent: "git update-index --split-index; git update-index --untracked-cache 2>/dev/null; echo new > notes.txt", adds: new1},
		{name: "tags", agent: "echo new > notes.txt; git add -A; git commit -qm Notes; git tag -a -m Nine v9", adds: new1},
		{name: "pushes-by-itself", agent: "echo new > notes.txt; git add -A; git commit -qm Notes; git push -q @ORIGIN@ HEAD:refs/heads/mine",
			adds: new1, pushes: []string{"refs/heads/mine"}},
		{name: "adds-remotes", agent: "git remote add other @OTHER@; git remote remove origin 2>/dev/null; echo new > notes.txt", adds: new1},
		{name: "collects-garbage", agent: "echo new > notes.txt; git add -A; git commit -qm Notes; git reflog expire --expire=now --all; " +
			"git gc -q --prune=now", adds: new1},
		{name: "repacks", agent: "echo new > notes.txt; git add -A; git commit -qm Notes; git repack -q -a -d -l; git prune --expire=now", adds: new1},
		{name: "deletes-branches", agent: "echo new > notes.txt; git add -A; git commit -qm Notes; git checkout -q --detach; " +
			"for r in $(git for-each-ref --format='%(refname)'); do git update-ref --no-deref -d $r; done", adds: new1},
		{name: "leaves-children", agent: "setsid sh -c 'sleep 1000; echo late > late.txt' >/dev/null 2>&1 & echo new > notes.txt", adds: new1},
		{name: "shallows-itself", agent: `echo new > notes.txt; git add -A; git commit -qm Notes; git rev-parse HEAD~1 > "$(git rev-parse --git-dir)/shallow"`, adds: new1},
		{name: "excludes-for-itself", agent: `d=$(git rev-parse --git-dir); mkdir -p "$d/info"; echo '/scratch' >> "$d/info/exclude"; echo new > notes.txt`,
			adds: new1},
		{name: "writes-utf16-message", agent: `printf 'caf\351\n\nText' > m; echo new > notes.txt; git add notes.txt; ` +
			`git -c i18n.commitEncoding=ISO-8859-1 commit -qF m; rm m`, adds: new1},
		{name: "writes-trailers-of-others", agent: "echo new > notes.txt; git add -A; printf 'Mine\\n\\nFleetboard-Job: FB-1\\nFleetboard-Epoch: 9\\n' | " +
			"git commit -qF -", adds: new1},
		{name: "commits-in-the-future", agent: "echo new > notes.txt; git add -A; GIT_COMMITTER_DATE='2099-01-01T00:00:00Z' git commit -qm Late", adds: new1},
		{name: "replaces-objects", agent: "echo new > notes.txt; git add -A; git commit -qm Notes; echo evil > e; " +
			"git replace $(git rev-parse HEAD:notes.txt) $(git hash-object -w e); rm e", adds: new1},
		{name: "changes-the-persons-remote-copy", agent: "git update-ref refs/remotes/origin/main HEAD~1 || true; echo new > notes.txt", adds: new1},
		{name: "is-interrupted-in-an-am", agent: `d=$(git rev-parse --git-dir); mkdir "$d/rebase-apply"; touch "$d/MERGE_HEAD"; echo new > notes.txt`, adds: new1},
	}
}
