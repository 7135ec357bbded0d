package repositories

// strict is a machine of a company that signs all commits, whose tools watch every call of
// git, and whose person has settings of a lifetime.
var strict = host{name: "strict", flags: []string{"--seats", "2"}, files: refusers(), system: `
[commit]
	gpgSign = true
	template = @DIR@/template
	cleanup = strip
	verbose = true
[tag]
	gpgSign = true
[gpg]
	program = @DIR@/hooks/refuse
[core]
	hooksPath = @DIR@/hooks
	fsmonitor = @DIR@/hooks/refuse
	autocrlf = input
	safecrlf = true
	editor = @DIR@/hooks/refuse
	pager = @DIR@/hooks/refuse
	quotePath = true
	excludesFile = @DIR@/excludes
	attributesFile = @DIR@/attributes
[init]
	defaultBranch = trunk
	templateDir = @DIR@/template-dir
[fetch]
	prune = true
	pruneTags = true
	fsckObjects = true
[transfer]
	fsckObjects = true
[receive]
	fsckObjects = true
[push]
	default = nothing
	followTags = true
	gpgSign = false
[pull]
	ff = only
[merge]
	ff = only
[diff]
	external = @DIR@/hooks/refuse
	noprefix = true
	renames = copies
	algorithm = histogram
[color]
	ui = always
[status]
	showUntrackedFiles = no
	short = true
	branch = true
[log]
	showSignature = true
	decorate = full
[user]
	useConfigOnly = true
[gc]
	auto = 1
	pruneExpire = now
[checkout]
	defaultRemote = upstream
[worktree]
	guessRemote = true
[submodule]
	recurse = true
[clone]
	defaultRemoteName = upstream
[url "@DIR@/origins/"]
	insteadOf = corp:
`, user: `
[core]
	abbrev = 4
[branch]
	autoSetupMerge = always
	autoSetupRebase = always
[alias]
	add = !false
	commit = !false
[rebase]
	autoStash = true
	updateRefs = true
[advice]
	detachedHead = false
`}

// closed is a machine on which git opens no repository by its path.
var closed = host{name: "closed", system: `
[protocol "file"]
	allow = never
[protocol "ext"]
	allow = never
[safe]
	bareRepository = explicit
[core]
	autocrlf = true
	symlinks = true
`}

// refusers returns what the strict machine's settings name. The programs must not run.
func refusers() map[string]string {
	all := map[string]string{"excludes": "notes.txt\n*.bak\n", "attributes": "*.txt filter=missing diff=missing\n", "template": "Say why\n",
		"template-dir/hooks/post-checkout": refuse}
	for _, name := range []string{"refuse", "pre-commit", "commit-msg", "pre-push", "post-checkout", "post-commit", "reference-transaction",
		"prepare-commit-msg"} {
		all["hooks/"+name] = refuse
	}
	return all
}

// refuse records that it ran, in a file that must not be made.
const refuse = "#!/bin/sh\necho \"$0 $*\" >> @DIR@/ran\nexit 1\n"

// settings are repositories on machines whose git is set up oddly.
func settings() []situation {
	on := func(h host, list ...situation) []situation {
		for i := range list {
			list[i].host = h
			list[i].name = h.name + "-" + list[i].name
		}
		return list
	}
	crlf := func(r *repository) {
		r.put(r.clone(), "windows.bat", "echo one\r\necho two\r\n", 0o600)
		r.commit(r.clone(), "For Windows")
		r.git(r.clone(), "push", "-q", "origin", "main")
	}
	found := on(strict,
		situation{name: "edits", agent: "echo four >> src/main.txt; echo new > new.txt", adds: map[string]entry{
			"src/main.txt": file("one\ntwo\nthree\nfour\n"), "new.txt": file("new\n")}},
		situation{name: "renames", agent: "mv README.md LIESMICH.md", gone: []string{"README.md"}, adds: map[string]entry{"LIESMICH.md": file("# Ledger\n")}},
		situation{name: "odd-name", agent: `echo x > "$(printf 'a\rb\303\251')"`, adds: map[string]entry{"a\rb\u00e9": file("x\n")}},
		situation{name: "line-ends", prepare: crlf, agent: "echo x > x", adds: map[string]entry{"x": file("x\n")}},
		situation{name: "alone", build: (*repository).buildAlone, local: true, agent: "echo x > x", adds: map[string]entry{"x": file("x\n")}},
		situation{name: "unborn", build: empty, bare: true, agent: "echo x > x", adds: map[string]entry{"x": file("x\n")}},
		situation{name: "abbreviated-address", prepare: func(r *repository) {
			r.git(r.clone(), "remote", "set-url", "origin", "corp:"+r.name+".git")
		}, agent: "echo x > x", adds: map[string]entry{"x": file("x\n")}},
		situation{name: "agent-commits", agent: "echo x > x; git -c alias.add= -c core.hooksPath=/dev/null -c core.fsmonitor=false add -A; " +
			"git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false commit -qm X",
			adds: map[string]entry{"x": file("x\n")}},
	)
	return append(found, on(closed,
		situation{name: "alone", build: (*repository).buildAlone, local: true, agent: "echo x > x", adds: map[string]entry{"x": file("x\n")}},
		situation{name: "line-ends", build: (*repository).buildAlone, local: true, prepare: func(r *repository) {
			r.put(r.clone(), "windows.bat", "echo one\r\necho two\r\n", 0o600)
			r.put(r.clone(), "unix.sh", "echo one\necho two\n", 0o600)
			r.commit(r.clone(), "For all")
		}, agent: "echo x > x; cp unix.sh copy.sh", adds: map[string]entry{"x": file("x\n"), "copy.sh": file("echo one\necho two\n")}},
		situation{name: "bare-alone", local: true, build: func(r *repository) {
			r.place = r.name + ".git"
			r.build()
			r.cloneAgain("--bare", r.origin())
			r.git(r.clone(), "remote", "remove", "origin")
		}, agent: "echo x > x", adds: map[string]entry{"x": file("x\n")}},
	)...)
}
