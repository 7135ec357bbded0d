package repos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// However a person's clone stands, an attempt begins from the branch that is the default one,
// and its work reaches the origin or the clone.
func TestAttemptsBeginFromTheDefaultBranch(t *testing.T) {
	for name, c := range map[string]struct {
		prepare    string // in the clone, which has an origin in ../origin.git where origin says so
		origin     bool
		want, into string // a file that there is, the branch that a merge goes to
	}{
		"on a branch":                         {"", true, "README.md", "main"},
		"the person is on another branch":     {"git checkout -qb mine; echo x > x; git add x; git commit -qm x", true, "README.md", "main"},
		"detached":                            {"git checkout -q --detach; echo x > x; git add x; git commit -qm x", true, "README.md", "main"},
		"detached, without an origin":         {"git checkout -q --detach; echo x > x; git add x; git commit -qm x", false, "README.md", "main"},
		"detached, and no branch is usual":    {"git branch -m odd; git branch odder; echo x > x; git add x; git commit -qm x; git checkout -q --detach; git branch -D odd odder", false, "x", ""},
		"renamed at the origin":               {"git -C ../origin.git branch -m main trunk; git -C ../origin.git symbolic-ref HEAD refs/heads/trunk", true, "README.md", "trunk"},
		"the origin's HEAD names nothing":     {"git -C ../origin.git branch -m main master", true, "README.md", "master"},
		"behind the origin":                   {"echo x > x; git add x; git commit -qm x; git push -q origin main; git reset -q --hard HEAD~1", true, "x", "main"},
		"ahead of the origin":                 {"echo x > x; git add x; git commit -qm x", true, "README.md", "main"},
		"a shallow clone":                     {"git push -q origin main; rm -rf .git; git clone -q --depth 1 file://$PWD/../origin.git c; mv c/.git .; rm -r c", true, "README.md", "main"},
		"a shallow clone without an origin":   {"echo x > x; git add x; git commit -qm x; git clone -q --depth 1 file://$PWD c; rm -rf .git; mv c/.git .; rm -r c; git remote remove origin", false, "x", "main"},
		"a clone that borrows":                {"mv .git ../lender; git clone -q --shared ../lender c; mv c/.git .; rm -r c; git remote set-url origin ../origin.git", true, "README.md", "main"},
		"nothing was pushed yet":              {"git -C ../origin.git update-ref -d refs/heads/main", true, "README.md", "main"},
		"in the middle of a merge":            {"git checkout -qb x; echo x > README.md; git commit -qam x; git checkout -q main; echo y > README.md; git commit -qam y; git merge -q x || true", true, "README.md", "main"},
		"on a branch, without an origin":      {"", false, "README.md", "main"},
		"an orphan branch, without an origin": {"git checkout -q --orphan new", false, "README.md", "main"},
		"tags and a stash":                    {"git tag v1; echo x > README.md; git stash -q; git push -q origin v1", true, "README.md", "main"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, at, origin := withOrigin(t)
			if !c.origin {
				gitIn(t, at, "remote", "remove", "origin")
			}
			if err := os.Symlink(origin, filepath.Join(filepath.Dir(at), "origin.git")); err != nil {
				t.Fatal(err)
			}
			agent(t, &Worktree{Dir: at}, "git config user.name a; git config user.email a@example.com\n"+c.prepare)
			before := fingerprint(t, at)
			w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
			if !exists(filepath.Join(w.Dir, c.want)) {
				t.Errorf("it lacks %s", c.want)
			}
			write(t, w.Dir, "work", "work")
			commit, _, err := w.Commit(t.Context(), "Work")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Push(t.Context()); err != nil {
				t.Fatal(err)
			}
			where := origin
			if !c.origin {
				where = at
			} else if after := fingerprint(t, at); after != before {
				t.Errorf("the clone was\n%s\nand is\n%s", before, after)
			}
			if gitIn(t, where, "rev-parse", w.Branch) != commit || gitIn(t, where, "show", w.Branch+":work") != "work" {
				t.Error("the work is not there")
			}
			if c.into == "" || !c.origin {
				return
			}
			if _, err := r.Merge(t.Context(), MergeRequest{Repo: "ledger", Commit: commit, Message: "Merge FB-1"}); err != nil ||
				gitIn(t, where, "show", c.into+":work") != "work" {
				t.Errorf("it is merged: %v", err)
			}
		})
	}
}

// A repository whose objects have names of SHA-256 is worked on and merged as every other.
func TestARepositoryOfSHA256(t *testing.T) {
	dir := t.TempDir()
	at, origin := filepath.Join(dir, "ledger"), filepath.Join(t.TempDir(), "origin.git")
	gitIn(t, dir, "init", "-q", "-b", "main", "--object-format=sha256", at)
	write(t, at, "README.md", "# ledger\n")
	gitIn(t, at, "add", "-A")
	gitIn(t, at, "commit", "-q", "-m", "Begin")
	gitIn(t, dir, "clone", "-q", "--bare", at, origin)
	gitIn(t, at, "remote", "add", "origin", origin)
	for name, r := range map[string]*Repos{"FB-1": host(t, dir, t.TempDir()), "FB-2": host(t, "", t.TempDir(), "file://"+filepath.Dir(origin)+"/*.git")} {
		repo := "ledger"
		if name == "FB-2" {
			repo = "origin"
		}
		w := begin(t, r, Attempt{Repo: repo, Job: name, Epoch: 1})
		agent(t, w, "echo a > "+name+"; git add -A; git commit -qm a; echo b > b"+name)
		commit, _, err := w.Commit(t.Context(), "Work")
		if err != nil || len(commit) != 64 {
			t.Fatalf("%s: commit %s, %v", name, commit, err)
		}
		if _, err := w.Push(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Merge(t.Context(), MergeRequest{Repo: repo, Commit: commit, Message: "Merge"}); err != nil || gitIn(t, origin, "show", "main:b"+name) != "b" {
			t.Errorf("%s: merged %v", name, err)
		}
	}
}

// A clone that git does not read is a reason, in git's words, and not an empty repository.
func TestUnreadableIsNotEmpty(t *testing.T) {
	for name, c := range map[string]struct{ prepare, want string }{
		"a broken HEAD":     {"echo nonsense > .git/HEAD", "not a git repository"},
		"no .git behind it": {"rm -rf .git; echo 'gitdir: /nowhere' > .git", "not a git repository"},
		"broken settings":   {"echo '[' > .git/config", "bad config line"},
		"from the future":   {"git config core.repositoryformatversion 99", "version"},
		"lost objects":      {"rm -rf .git/objects/??", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := repository(t, dir, "ledger")
			agent(t, &Worktree{Dir: at}, c.prepare)
			r := host(t, dir, t.TempDir())
			if _, err := r.Begin(t.Context(), Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("an attempt begins: %v", err)
			}
			if found := must[[]Repo](t)(r.Discover(t.Context())); c.want != "" && len(found) > 0 {
				t.Errorf("it is offered as %+v", found)
			}
		})
	}
}

// A clone of another owner is read where the person's git trusts it.
func TestClonesOfOtherOwnersNeedTrust(t *testing.T) {
	dir := t.TempDir()
	repository(t, dir, "ledger")
	assumeOtherOwner(t)
	r := host(t, dir, t.TempDir())
	if _, err := r.Begin(t.Context(), Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1}); err == nil || !strings.Contains(err.Error(), "dubious ownership") {
		t.Errorf("without trust: %v", err)
	}
	write(t, dir, "gitconfig", "[safe]\n\tdirectory = *\n")
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(dir, "gitconfig"))
	w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	if !exists(filepath.Join(w.Dir, "README.md")) {
		t.Error("the files are not there")
	}
}

// assumeOtherOwner has git take every repository for somebody else's, since only the superuser
// can give files away. Git's own tests use the same variable.
func assumeOtherOwner(t *testing.T) {
	t.Helper()
	git := must[string](t)(exec.LookPath("git"))
	bin := t.TempDir()
	wrapper := "#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec '" + git + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(wrapper), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// Whatever a person does to the clone, an attempt loses no object: not even where the branch
// that it began from is removed and pruned.
func TestThePersonsGCTakesNothing(t *testing.T) {
	for _, withOrigin := range []bool{true, false} {
		dir := t.TempDir()
		at := repository(t, dir, "ledger")
		if withOrigin {
			origin := filepath.Join(t.TempDir(), "origin.git")
			gitIn(t, dir, "clone", "-q", "--bare", at, origin)
			gitIn(t, at, "remote", "add", "origin", origin)
			gitIn(t, at, "fetch", "-q", "origin")
		}
		r := host(t, dir, t.TempDir())
		w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
		agent(t, &Worktree{Dir: at}, `git checkout -q --orphan other; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m other
			git branch -qD main; git update-ref -d refs/remotes/origin/main; git reflog expire --expire=now --all; git gc -q --prune=now; find .git/objects -name 'tmp*' -delete`)
		agent(t, w, "git fsck --connectivity-only; git log -p >/dev/null; echo a > a; git add a; git -c user.name=a -c user.email=a@b commit -qm a")
		commit, _, err := w.Commit(t.Context(), "Work")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Push(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !withOrigin && (gitIn(t, at, "rev-parse", w.Branch) != commit || gitIn(t, at, "show", w.Branch+":README.md") == "") {
			t.Error("the work is not whole in the clone")
		}
	}
}

// Packing a mirror takes no object from those who borrow it, also not one that nothing names.
func TestPackingTakesNoObject(t *testing.T) {
	r, _, _ := withOrigin(t)
	w := begin(t, r, Attempt{Repo: "ledger", Job: "FB-1", Epoch: 1})
	for i := range 3 {
		write(t, w.Dir, "work", fmt.Sprint(i))
		if _, err := w.SaveWIP(t.Context(), "more"); err != nil {
			t.Fatal(err)
		}
	}
	lost := w.tip
	gitIn(t, w.Dir, "fetch", "-q", w.mirror.dir, w.Branch)
	gitIn(t, w.mirror.dir, "update-ref", "refs/heads/"+w.Branch, w.Base)
	c := w.mirror.git()
	for range 2 {
		if err := c.do(t.Context(), "repack", "--quiet", "-d", "--geometric=2"); err != nil {
			t.Fatal(err)
		}
		write(t, w.Dir, "work", "again")
		gitIn(t, w.Dir, "add", "work")
		gitIn(t, w.Dir, "commit", "-q", "-m", "Again", "--allow-empty")
		if _, err := w.SaveWIP(t.Context(), "again"); err != nil {
			t.Fatal(err)
		}
	}
	if gitIn(t, w.Dir, "show", lost+":work") != "2" {
		t.Error("an object is gone")
	}
	gitIn(t, w.Dir, "fsck", "--connectivity-only")
}
