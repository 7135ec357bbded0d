package repos

import (
	"errors"
	"os"
	"path/filepath"
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
