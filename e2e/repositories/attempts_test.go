package repositories

// attempts are jobs whose first attempt fails, and whose second one goes on from what it left.
func attempts() []situation {
	goesOn := func(name, first, second string, adds map[string]entry) situation {
		return situation{name: "again-" + name, attempts: 2, agent: "if [ $FLEETBOARD_EPOCH = 1 ]; then " + first + "; exit 1; fi; " + second, adds: adds}
	}
	both := map[string]entry{"one.txt": file("one\n"), "two.txt": file("two\n")}
	list := []situation{
		goesOn("with-files", "echo one > one.txt", "cat one.txt; echo two > two.txt", both),
		goesOn("with-commits", "echo one > one.txt; git add -A; git commit -qm One", "cat one.txt; echo two > two.txt", both),
		goesOn("with-a-branch", "git checkout -q -b mine; echo one > one.txt; git add -A; git commit -qm One", "cat one.txt; echo two > two.txt", both),
		goesOn("without-git", "echo one > one.txt; rm -rf .git", "cat one.txt; echo two > two.txt; git add -A; git commit -qm Two", both),
		goesOn("after-a-locked-index", "echo one > one.txt; touch .git/index.lock", "git add -A; echo two > two.txt", both),
		goesOn("with-a-history-of-its-own", "git checkout -q --orphan fresh; echo one > one.txt; git add -A; git commit -qm One",
			"cat one.txt; echo two > two.txt", both),
		goesOn("and-undoes-it", "echo one > one.txt", "rm one.txt; echo two > two.txt", map[string]entry{"two.txt": file("two\n")}),
		goesOn("in-a-clean-repository", "git config core.fsmonitor /nowhere; git config user.name Eve; git stash list; git branch left; echo one > one.txt",
			"git branch --list left > two.txt; git config user.name >> two.txt", map[string]entry{"one.txt": file("one\n"), "two.txt": file("Mara\n")}),
	}
	secret := goesOn("without-the-secret", "echo $FLEETBOARD_SECRET_TOKEN > one.txt; git add -A; git commit -qm One", "ls > two.txt",
		map[string]entry{"two.txt": file("README.md\nbin\nlatest\nsrc\ntwo.txt\n")})
	secret.secret = "correct-horse-battery"
	alone := goesOn("alone", "echo one > one.txt", "cat one.txt; echo two > two.txt", both)
	alone.build, alone.local = (*repository).buildAlone, true
	return append(list, secret, alone)
}
