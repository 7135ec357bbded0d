package repos

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// agent runs a script in a worktree as an agent would, which is somebody else to the worker.
func agent(t *testing.T, w *Worktree, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
	cmd.Dir = w.Dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_ALLOW_PROTOCOL=file")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the agent's script: %v\n%s", err, out)
	}
}

// filesAt returns the files of a commit with their texts.
func filesAt(t *testing.T, dir, commit string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for name := range strings.SplitSeq(gitIn(t, dir, "ls-tree", "-rz", "--name-only", commit), "\x00") {
		if name != "" {
			files[name] = gitIn(t, dir, "show", commit+":"+name)
		}
	}
	return files
}

// fingerprint returns all that a person's clone has: branches, settings, stash, files.
func fingerprint(t *testing.T, at string) string {
	t.Helper()
	var all strings.Builder
	for _, args := range [][]string{{"for-each-ref"}, {"config", "--local", "--list"}, {"stash", "list"}, {"worktree", "list"}, {"status", "--porcelain"},
		{"branch", "--show-current"}} {
		all.WriteString(gitIn(t, at, args...) + "\n")
	}
	entries, err := os.ReadDir(filepath.Join(at, ".git"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all.WriteString(e.Name() + "\n")
	}
	return all.String()
}

// Whatever an agent does to its repository, what is handed in is what it left.
func TestWhatTheAgentLeftIsHandedIn(t *testing.T) {
	const readme = "# ledger"
	for name, c := range map[string]struct {
		script string
		want   map[string]string
		note   string // a part of one, "" where there must be none
	}{
		"on its branch, committed":               {"echo a > a; git add a; git commit -qm a", map[string]string{"a": "a", "README.md": readme}, ""},
		"on a branch of its own":                 {"git checkout -qb x; echo a > a; git add a; git commit -qm a; echo b > b", map[string]string{"a": "a", "b": "b", "README.md": readme}, ""},
		"detached":                               {"git checkout -q --detach; echo a > a; git add a; git commit -qm a", map[string]string{"a": "a", "README.md": readme}, ""},
		"amended what it began from":             {"echo a > a; git add a; git commit -q --amend -m other", map[string]string{"a": "a", "README.md": readme}, "rewrote"},
		"a history of its own":                   {"git checkout -q --orphan x; git rm -qrf .; echo a > a; git add a; git commit -qm a", map[string]string{"a": "a"}, "rewrote"},
		"an orphan without a commit":             {"git checkout -q --orphan x; echo a > a", map[string]string{"a": "a", "README.md": readme}, "no commit"},
		"removed .git":                           {"echo a > a; rm -rf .git", map[string]string{"a": "a", "README.md": readme}, "removed or replaced"},
		".git is a file":                         {"echo a > a; rm -rf .git; echo 'gitdir: /nowhere' > .git", map[string]string{"a": "a", "README.md": readme}, "removed or replaced"},
		".git is a link":                         {"echo a > a; mv .git ../git-$$; ln -s ../git-$$ .git", map[string]string{"a": "a", "README.md": readme}, "removed or replaced"},
		".git is begun anew":                     {"rm -rf .git; git init -q; echo a > a; git add -A; git commit -qm a", map[string]string{"a": "a", "README.md": readme}, "rewrote"},
		"a lock of a killed git":                 {"echo a > a; touch .git/index.lock .git/HEAD.lock", map[string]string{"a": "a", "README.md": readme}, ""},
		"a broken index":                         {"echo a > a; echo nonsense > .git/index", map[string]string{"a": "a", "README.md": readme}, ""},
		"a broken HEAD":                          {"echo a > a; echo nonsense > .git/HEAD", map[string]string{"a": "a", "README.md": readme}, "no commit"},
		"a repository inside":                    {"git init -q lib; cd lib; echo l > l; git add l; git commit -qm l", map[string]string{"lib/l": "l", "README.md": readme}, "lib is a repository"},
		"one inside without a commit":            {"git init -q lib; echo l > lib/l", map[string]string{"lib/l": "l", "README.md": readme}, "lib is a repository"},
		"one inside that was added":              {"git init -q lib; (cd lib; echo l > l; git add l; git commit -qm l); git add lib 2>/dev/null; git commit -qm lib", map[string]string{"lib/l": "l", "README.md": readme}, "lib is a repository"},
		"a read-only directory":                  {"mkdir d; echo a > d/a; chmod 500 d", map[string]string{"d/a": "a", "README.md": readme}, ""},
		"files that nobody may read":             {"mkdir d; echo a > d/a; chmod 000 d/a; echo b > b; chmod 000 b d", map[string]string{"d/a": "a", "b": "b", "README.md": readme}, ""},
		"ignored, but added":                     {"echo a > .gitignore; echo a > a; git add -f a", map[string]string{"a": "a", ".gitignore": "a", "README.md": readme}, ""},
		"ignored, but committed":                 {"echo a > .gitignore; echo a > a; git add -f a; git commit -qm a", map[string]string{"a": "a", ".gitignore": "a", "README.md": readme}, ""},
		"left out by info/exclude":               {"mkdir -p .git/info; echo a > .git/info/exclude; echo a > a; echo b > b", map[string]string{"b": "b", "README.md": readme}, ""},
		"its directory is gone":                  {"git checkout -qb x; echo a > a; cd /; rm -rf \"$OLDPWD\"", map[string]string{}, "is gone"},
		"its directory is a link to another one": {"echo a > a; here=$PWD; mkdir ../home; echo secret > ../home/key; cd ..; mv $here gone; ln -s home $here", map[string]string{}, "is gone"},
		"all removed":                            {"git rm -qr .; echo a > a", map[string]string{"a": "a"}, ""},
		"marked as unchanged":                    {"git update-index --assume-unchanged README.md; echo new > README.md", map[string]string{"README.md": "new"}, ""},
		"in the middle of a conflict":            {"git checkout -qb x; echo x > README.md; git commit -qam x; git checkout -q -; echo y > README.md; git commit -qam y; git merge -q x >/dev/null || true; echo z > README.md", map[string]string{"README.md": "z"}, "also left commits on x"},
		"commits on another branch":              {"git checkout -qb x; echo a > a; git add a; git commit -qm a; git checkout -q -; echo b > b", map[string]string{"b": "b", "README.md": readme}, "also left commits on x"},
		"another work tree of its own":           {"git worktree add -q .wt -b x; echo a > .wt/a; echo b > b", map[string]string{"b": "b", "README.md": readme}, "also left work in its work tree .wt"},
		"a work tree beside its directory":       {"git worktree add -q ../beside -b x; echo a > ../beside/a; echo b > b", map[string]string{"b": "b", "README.md": readme}, "also left work in its work tree beside"},
		"an unused work tree of its own":         {"git worktree add -q .wt -b x; echo b > b", map[string]string{"b": "b", "README.md": readme}, ""},
		"a stash":                                {"echo a > README.md; git stash -q; echo b > b", map[string]string{"b": "b", "README.md": readme}, "also left commits on refs/stash"},
		"repacked and pruned":                    {"echo a > a; git add a; git commit -qm a; git gc -q --prune=now", map[string]string{"a": "a", "README.md": readme}, ""},
		"pipes and links":                        {"mkfifo p; ln -s /etc/passwd l; ln -s README.md m; ln README.md h", map[string]string{"l": "/etc/passwd", "m": "README.md", "h": readme, "README.md": readme}, ""},
		"line ends of its own":                   {`printf 'a\r\nb\n' > a; git config core.autocrlf true`, map[string]string{"a": "a\r\nb", "README.md": readme}, ""},
		"settings that are none":                 {"echo a > a; echo '[' > .git/config", map[string]string{"a": "a", "README.md": readme}, ""},
		"names like options and globs":           {`echo a > ./--a; echo b > ':(glob)b'; echo c > 'c*'; printf d > "$(printf 'd\n\r\t"d')"`, map[string]string{"--a": "a", ":(glob)b": "b", "c*": "c", "d\n\r\t\"d": "d", "README.md": readme}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, at, origin := withOrigin(t)
			before := fingerprint(t, at)
			w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
			agent(t, w, strings.ReplaceAll(c.script, "git commit", "git -c user.name=a -c user.email=a@example.com commit"))
			commit, changed, err := w.Commit(t.Context(), "FB-1: Work")
			if err != nil || changed != (len(c.want) > 0) {
				t.Fatalf("commit: %v, changed %v", err, changed)
			}
			if _, err := w.Push(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !changed {
				if strings.Contains(gitIn(t, origin, "for-each-ref"), "fleet/") || !strings.Contains(strings.Join(w.Notes, "\n"), c.note) {
					t.Errorf("something is pushed, or the notes are %q", w.Notes)
				}
				return
			}
			if got := filesAt(t, origin, w.Branch); !maps.Equal(got, c.want) || gitIn(t, origin, "rev-parse", w.Branch) != commit {
				t.Errorf("handed in is %q", got)
			}
			if notes := strings.Join(w.Notes, "\n"); !strings.Contains(notes, c.note) || (notes != "") != (c.note != "") {
				t.Errorf("the notes are %q", notes)
			}
			if after := fingerprint(t, at); after != before {
				t.Errorf("the person's clone was\n%s\nand is\n%s", before, after)
			}
			if exists(w.Dir) || w.rescued != "" || exists(filepath.Join(filepath.Dir(w.Dir), "beside")) {
				t.Errorf("the directory stays, rescued to %q", w.rescued)
			}
		})
	}
}

// Nothing that an agent writes into its repository, or beside it, is run by the worker's git,
// and the next attempt on the repository knows nothing of it.
func TestAHostileAgentReachesNobodyElse(t *testing.T) {
	r, at, origin := withOrigin(t)
	before := fingerprint(t, at)
	ran := filepath.Join(t.TempDir(), "ran")
	run := "touch " + ran
	w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	hooks := strings.Join([]string{"pre-commit", "post-commit", "post-checkout", "pre-push", "reference-transaction", "post-index-change", "pre-receive",
		"update", "fsmonitor-watchman", "commit-msg", "prepare-commit-msg"}, " ")
	agent(t, w, fmt.Sprintf(`
		evil='%[1]s; false'
		mkdir -p .git/hooks lib
		git init -q sub; (cd sub; echo s > s; git add s; git -c user.name=a -c user.email=a@b commit -qm s)
		printf '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n' > .gitmodules
		git add .gitmodules sub; git -c user.name=a -c user.email=a@b commit -qm sub
		echo more > sub/s; (cd sub; git config core.fsmonitor "$evil")
		for s in core.fsmonitor core.sshCommand core.editor core.pager core.askPass credential.helper diff.external gpg.program sequence.editor \
			filter.x.clean filter.x.smudge filter.x.process diff.x.textconv diff.x.command merge.x.driver uploadpack.packObjectsHook \
			core.alternateRefsCommand trailer.x.cmd alias.add alias.commit remote.origin.uploadpack remote.origin.receivepack; do
			git config $s "$evil"; done
		git config core.hooksPath "$PWD/.git/hooks"; git config commit.gpgSign true; git config core.worktree /; git config core.bare true
		git config remote.origin.url "ext::sh -c %[1]s"; git config remote.origin.pushurl "ext::sh -c %[1]s"; git config protocol.ext.allow always
		git config remote.origin.promisor true; git config extensions.partialClone origin
		git config url."ext::sh -c %[1]s".insteadOf / ; git config include.path /etc/passwd
		printf '* filter=x diff=x merge=x text\n' > .gitattributes; printf '* filter=x\n' > .git/info/attributes
		echo %[3]s/nowhere >> .git/objects/info/alternates
		for h in %[2]s; do printf '#!/bin/sh\n%[1]s\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done
		echo work > work
	`, run, hooks, at))
	if exists(ran) {
		t.Fatal("the agent's own git ran it")
	}
	commit, _, err := w.Commit(t.Context(), "Work")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Diff(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Push(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	merged, err := r.Merge(t.Context(), MergeRequest{Repo: "ledger", Commit: commit, Message: "Merge FB-1"})
	if err != nil || gitIn(t, origin, "show", merged+":work") != "work" {
		t.Fatalf("merged %s, %v", merged, err)
	}
	if exists(ran) {
		t.Error("something of the agent's was run")
	}
	if after := fingerprint(t, at); after != before {
		t.Errorf("the person's clone was\n%s\nand is\n%s", before, after)
	}
	next := begin(t, r, Attempt{Repo: "ledger", Job: "FB-2", Epoch: 1})
	settings := gitIn(t, next.Dir, "config", "--local", "--list")
	if strings.Contains(settings, ran) || !slices.Contains(strings.Split(settings, "\n"), "remote.origin.url="+origin) {
		t.Errorf("the next attempt has the settings\n%s", settings)
	}
	if hooks, _ := filepath.Glob(filepath.Join(next.Dir, ".git", "hooks", "*")); len(hooks) > 0 || gitIn(t, next.Dir, "stash", "list") != "" {
		t.Errorf("the next attempt has the hooks %v", hooks)
	}
}

// Two servers have a job of one key, and one server was begun anew: neither finds the work of
// the other.
func TestJobsOfOneKeyAreNotMixed(t *testing.T) {
	r, _, origin := withOrigin(t)
	branches := map[string]string{}
	for _, id := range []string{"018f-a", "018f-b"} {
		w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", ID: id, Epoch: 1})
		if exists(filepath.Join(w.Dir, "work")) {
			t.Errorf("%s begins with the work of another", id)
		}
		write(t, w.Dir, "work", id)
		if _, _, err := w.Commit(t.Context(), "Work"); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Push(t.Context()); err != nil {
			t.Fatal(err)
		}
		branches[w.Branch] = id
	}
	for branch, id := range branches {
		if got := gitIn(t, origin, "show", branch+":work"); got != id || len(branches) != 2 {
			t.Errorf("%s of %s has the work of %s", branch, id, got)
		}
	}
}
