package repositories

// foul is the machine of the hostile agents, whose home is their own too.
var foul = host{name: "foul", flags: []string{"--seats", "2"}}

// evil is a program of an agent's, that leaves a mark when it is run.
const evil = "printf '#!/bin/sh\\necho \"$0 $*\" >> @MARK@\\ncat 2>/dev/null\\nexit 0\\n' > @OTHER@evil; chmod +x @OTHER@evil; "

// hostile are agents that want the worker's own git to run what they wrote, or to go where
// they say. The next job in the repository knows nothing of it.
func hostile() []situation {
	set := func(name, how string) situation {
		return situation{name: "hostile-" + name, agent: evil + "echo new > notes.txt; " + how}
	}
	config := func(name string, settings ...string) situation {
		how := "c=$(git rev-parse --git-path config); mkdir -p \"$(dirname $c)\"; "
		for _, s := range settings {
			how += "git config --file \"$c\" " + s + "; "
		}
		return set(name, how)
	}
	list := []situation{
		config("fsmonitor", "core.fsmonitor @OTHER@evil"),
		config("hooks-path", "core.hooksPath @OTHER@hooks", "core.x 1"),
		set("hooks", `d=$(git rev-parse --git-common-dir); mkdir -p "$d/hooks"; for h in pre-commit post-checkout pre-push post-commit reference-transaction `+
			`post-index-change pre-receive update post-update; do cp @OTHER@evil "$d/hooks/$h"; done`),
		config("push-url", "remote.origin.pushurl @OTHER@stolen.git", "remote.origin.url @OTHER@stolen.git"),
		config("instead-of", "url.@OTHER@stolen.git.insteadOf @ORIGIN@", "url.@OTHER@stolen.git.pushInsteadOf @ORIGIN@"),
		config("transport", "remote.origin.uploadpack @OTHER@evil", "remote.origin.receivepack @OTHER@evil", "core.sshCommand @OTHER@evil",
			"remote.origin.vcs ext", "protocol.ext.allow always", "remote.origin.proxy http://127.0.0.1:9"),
		config("programs", "gpg.program @OTHER@evil", "commit.gpgSign true", "core.editor @OTHER@evil", "core.pager @OTHER@evil", "diff.external @OTHER@evil",
			"credential.helper @OTHER@evil", "sequence.editor @OTHER@evil", "core.askPass @OTHER@evil", "gc.auto 1", "alias.add '!@OTHER@evil'"),
		config("include", "include.path @OTHER@included", "includeIf.gitdir:/.path @OTHER@included"),
		config("worktree", "core.worktree @HOST@", "core.bare false"),
		config("bare", "core.bare true"),
		config("version", "core.repositoryFormatVersion 99", "extensions.nothing true"),
		config("partial", "extensions.partialClone evil", "remote.evil.url ext::@OTHER@evil", "remote.evil.promisor true", "protocol.ext.allow always"),
		config("merge-driver", "merge.evil.driver @OTHER@evil", "merge.default evil", "merge.tool evil"),
		config("namespaces", "core.logAllRefUpdates always", "core.sharedRepository 0777", "core.ignoreCase true", "core.precomposeUnicode true",
			"core.fileMode false", "core.symlinks false", "core.autocrlf true", "core.bigFileThreshold 1", "core.compression 99",
			"core.attributesFile @OTHER@attributes", "core.excludesFile @OTHER@excludes", "status.showUntrackedFiles no"),
		set("alternates", `d=$(git rev-parse --git-common-dir); mkdir -p @OTHER@objects "$d/objects/info"; echo @OTHER@objects >> "$d/objects/info/alternates"`),
		set("git-file", "rm -rf .git; git init -q @OTHER@repo; git -C @OTHER@repo config core.fsmonitor @OTHER@evil; echo 'gitdir: @OTHER@repo/.git' > .git"),
		set("git-link", "rm -rf .git; git init -q @OTHER@repo; git -C @OTHER@repo config core.fsmonitor @OTHER@evil; ln -s @OTHER@repo/.git .git"),
		set("git-is-the-clone", "rm -rf .git; echo 'gitdir: @CLONE@/.git' > .git"),
		set("git-links-to-the-clone", "rm -rf .git; ln -s @CLONE@/.git .git"),
		set("git-above", "rm -rf .git; cd ..; git init -q . 2>/dev/null; git config core.fsmonitor @OTHER@evil"),
		set("objects-link", "d=$(git rev-parse --git-dir); rm -rf \"$d/objects\"; ln -s @CLONE@/.git/objects \"$d/objects\""),
		set("head-link", "d=$(git rev-parse --git-dir); rm -f \"$d/HEAD\"; ln -s @HOST@/.gitconfig \"$d/HEAD\"; rm -f \"$d/index\"; ln -s @HOST@/.gitconfig \"$d/index\""),
		set("environment", "echo GIT_DIR=@OTHER@repo > .env; rm .env; export GIT_DIR=@OTHER@repo GIT_WORK_TREE=/"),
		set("children", "setsid sh -c 'while :; do c=$(git rev-parse --git-path config); git config --file \"$c\" core.fsmonitor @OTHER@evil; sleep 0.05; done' >/dev/null 2>&1 &"),
		set("worktree-config", "git config extensions.worktreeConfig true; git config --worktree core.fsmonitor @OTHER@evil || true"),
		set("nested", "git init -q inner; git -C inner config core.fsmonitor @OTHER@evil; rm -rf inner/.git/hooks; mkdir inner/.git/hooks; "+
			"cp @OTHER@evil inner/.git/hooks/post-checkout; cp @OTHER@evil inner/.git/hooks/pre-commit; echo in > inner/in.txt"),
	}
	for i := range list {
		list[i].host, list[i].adds = foul, map[string]entry{"notes.txt": file("new\n")}
		if list[i].name == "hostile-nested" {
			list[i].adds["inner/in.txt"] = file("in\n")
		}
		list[i].next, list[i].nextAdds = "git status --porcelain > status.txt; git stash list >> status.txt; echo next > next.txt",
			map[string]entry{"next.txt": file("next\n"), "status.txt": file("?? status.txt\n")}
	}
	filter := set("filter", "printf '* filter=evil diff=evil merge=evil\\n' > .gitattributes; c=$(git rev-parse --git-path config); "+
		"for k in clean smudge process; do git config --file \"$c\" filter.evil.$k @OTHER@evil; done; git config --file \"$c\" filter.evil.required true; "+
		"git config --file \"$c\" diff.evil.textconv @OTHER@evil; git config --file \"$c\" diff.evil.command @OTHER@evil")
	filter.host = foul
	filter.adds = map[string]entry{"notes.txt": file("new\n"), ".gitattributes": file("* filter=evil diff=evil merge=evil\n")}
	modules := set("modules", "git clone -q @ORIGIN@ dep; printf '[submodule \"dep\"]\\n\\tpath = dep\\n\\turl = ext::@OTHER@evil\\n\\tupdate = !@OTHER@evil\\n' > .gitmodules; "+
		"git -C dep config core.fsmonitor @OTHER@evil")
	modules.host = foul
	modules.adds = map[string]entry{"notes.txt": file("new\n")}
	modules.loose = []string{".gitmodules", "dep"}
	home := situation{name: "hostile-home", host: host{name: "home"}, adds: map[string]entry{"notes.txt": file("new\n")},
		agent: evil + "echo new > notes.txt; for k in core.fsmonitor core.hooksPath gpg.program core.editor core.pager diff.external core.askPass " +
			"alias.add alias.commit filter.evil.clean filter.lfs.clean filter.lfs.smudge filter.lfs.process lfs.extension.evil.clean lfs.standalonetransferagent; do git config --global $k @OTHER@evil; done; git config --global commit.gpgSign true; " +
			"git config --global core.attributesFile @OTHER@attributes; echo '* filter=evil' > @OTHER@attributes; echo '*.bin filter=lfs' > .gitattributes; echo big > a.bin",
		next: "echo next > next.txt", nextAdds: map[string]entry{"next.txt": file("next\n")}, loose: []string{".gitattributes", "a.bin"}}
	return append(list, filter, modules, home)
}
