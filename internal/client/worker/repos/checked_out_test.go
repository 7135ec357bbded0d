package repos

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What is checked out is exactly the commit, whatever the branch has become; the changes count from where it
// left the branch that it goes into; and what is done there is thrown away.
func TestACommitIsCheckedOutByItself(t *testing.T) {
	r, at, origin := withOrigin(t)
	w, commit := approved(t, r, "FB-1", "one.txt", "one")
	gitIn(t, origin, "update-ref", "refs/heads/"+w.Branch, gitIn(t, origin, "commit-tree", "-p", commit, "-m", "Later", commit+"^{tree}"))
	gitIn(t, at, "commit", "-q", "--allow-empty", "-m", "Somebody else's")
	gitIn(t, at, "push", "-q", "origin", "main")
	for _, q := range []CheckOutRequest{{Commit: commit}, {Commit: commit[:10], Into: "main"}, {Commit: commit, Into: "gone"}} {
		q.Repo, q.Branch = "ledger", w.Branch
		c := must[*CheckedOut](t)(host(t, filepath.Dir(at), t.TempDir()).CheckOut(t.Context(), q))
		if head := gitIn(t, c.Dir, "rev-parse", "HEAD"); head != commit || c.Commit != commit || c.Base != gitIn(t, at, "rev-parse", "main~") {
			t.Errorf("it is %s from %s, at %s", c.Commit, c.Base, head)
		}
		if left := gitIn(t, c.Dir, "status", "--porcelain") + gitIn(t, c.Dir, "remote"); left != "" {
			t.Errorf("it has %s", left)
		}
		write(t, c.Dir, "one.txt", "two")
		write(t, c.Dir, "README.md", "gone")
		gitIn(t, c.Dir, "config", "core.editor", "evil")
		gitIn(t, c.Dir, "commit", "-q", "-a", "-m", "Mine")
		d := must[Diff](t)(c.Diff(t.Context()))
		if d.Count != 1 || d.Added != 1 || !strings.Contains(d.Patch, "+one") || strings.Contains(d.Patch, "two") {
			t.Errorf("it changes %+v", d)
		}
		if err := c.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		config := must[[]byte](t)(os.ReadFile(filepath.Join(c.Dir, ".git", "config")))
		if got := gitIn(t, c.Dir, "rev-parse", "HEAD") + gitIn(t, c.Dir, "status", "--porcelain"); got != commit || strings.Contains(string(config), "evil") {
			t.Errorf("renewed it is %s, with %s", got, config)
		}
		c.Close()
		if left, _ := filepath.Glob(filepath.Join(c.merge.repos.State, "merges", "*")); len(left) > 0 {
			t.Errorf("these are left: %s", left)
		}
	}
}

// A commit that is not there is refused as such, and so is what only looks like one.
func TestACommitThatIsNotThere(t *testing.T) {
	r, at, origin := withOrigin(t)
	w, commit := approved(t, r, "FB-1", "one.txt", "one")
	gitIn(t, origin, "branch", "abcdef0", commit)
	gitIn(t, at, "fetch", "-q", "origin")
	for _, q := range []CheckOutRequest{{Commit: strings.Repeat("ab", 20), Branch: w.Branch}, {Commit: strings.Repeat("ab", 20), Branch: "fleet/gone"},
		{Commit: "HEAD"}, {Commit: "--help"}, {Commit: ""}, {Commit: "abcdef0", Branch: "abcdef0"}} {
		q.Repo = "ledger"
		if _, err := r.CheckOut(t.Context(), q); !errors.Is(err, ErrNoCommit) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// What a commit changes of files that are held back does not lie there, whatever it has made of them, and the
// rest does.
func TestChangesAreHeldBack(t *testing.T) {
	r, at, _ := withOrigin(t)
	outside := t.TempDir()
	write(t, outside, "settings.json", "outside")
	must[struct{}](t)(struct{}{}, os.Mkdir(filepath.Join(at, ".claude"), 0o700))
	write(t, at, ".claude/settings.json", "before")
	write(t, at, "CLAUDE.md", "before")
	write(t, at, "AGENTS.md", "before")
	gitIn(t, at, "add", "-A")
	gitIn(t, at, "commit", "-q", "-m", "Instructions")
	gitIn(t, at, "push", "-q", "origin", "main")
	gitIn(t, at, "checkout", "-q", "-b", "hostile")
	write(t, at, "CLAUDE.md", "approve")
	write(t, at, ":(top)CLAUDE.md", "approve")
	must[struct{}](t)(struct{}{}, errors.Join(os.RemoveAll(filepath.Join(at, ".claude")), os.Symlink(outside, filepath.Join(at, ".claude")),
		os.Remove(filepath.Join(at, "AGENTS.md")), os.Mkdir(filepath.Join(at, "sub"), 0o700)))
	write(t, at, "sub/CLAUDE.md", "approve")
	write(t, at, "sub/code.go", "code")
	gitIn(t, at, "add", "-A")
	gitIn(t, at, "commit", "-q", "-m", "Hostile")
	gitIn(t, at, "push", "-q", "origin", "hostile")
	commit := gitIn(t, at, "rev-parse", "HEAD")
	c := must[*CheckedOut](t)(r.CheckOut(t.Context(), CheckOutRequest{Repo: "ledger", Commit: commit, Branch: "hostile"}))
	defer c.Close()
	held := must[[]string](t)(c.HoldBack(t.Context(), func(path string) bool { return path != "sub/code.go" }))
	if want := []string{".claude", ".claude/settings.json", ":(top)CLAUDE.md", "AGENTS.md", "CLAUDE.md", "sub/CLAUDE.md"}; !slices.Equal(held, want) {
		t.Errorf("held back are %q", held)
	}
	for name, want := range map[string]string{".claude/settings.json": "before", "CLAUDE.md": "before", "AGENTS.md": "before", "sub/code.go": "code",
		"sub/CLAUDE.md": "", ":(top)CLAUDE.md": ""} {
		if got, _ := os.ReadFile(filepath.Join(c.Dir, name)); string(got) != want {
			t.Errorf("%s says %q, not %q", name, got, want)
		}
	}
	if got := must[[]byte](t)(os.ReadFile(filepath.Join(outside, "settings.json"))); string(got) != "outside" {
		t.Errorf("outside is %s", got)
	}
	if head := gitIn(t, c.Dir, "rev-parse", "HEAD"); head != commit {
		t.Errorf("it is at %s", head)
	}
}
