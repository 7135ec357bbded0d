package repos

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/redact"
)

// Whatever would leave with a branch is searched, and nothing else.
func TestLeaksAreFoundInAllThatWouldLeave(t *testing.T) {
	const value = "quiet-watch-room"
	for name, c := range map[string]struct {
		script string
		want   []string
	}{
		"nothing":                     {"echo new > a.txt", nil},
		"a file":                      {"mkdir d; echo 'x quiet-watch-room' > d/a.txt", []string{"d/a.txt"}},
		"a file that is not text":     {`printf 'a\000quiet-watch-room\000' > a.bin`, []string{"a.bin"}},
		"the end of a long line":      {"{ head -c 200000 /dev/zero | tr '\\000' x; printf quiet-watch-room; } > a.txt", []string{"a.txt"}},
		"the name of a file":          {"echo x > quiet-watch-room.txt", []string{"the name of a file"}},
		"a link":                      {"ln -s quiet-watch-room a", []string{"a"}},
		"what was removed again":      {"echo quiet-watch-room > a.txt; git add a.txt; git commit -qm A; git rm -q a.txt; git commit -qm B", []string{"a.txt"}},
		"what was replaced again":     {"echo quiet-watch-room > a.txt; git add a.txt; git commit -qm A; echo x > a.txt", []string{"a.txt"}},
		"a branch that stays here":    {"git checkout -qb side; echo quiet-watch-room > a.txt; git add a.txt; git commit -qm A; git checkout -q -", nil},
		"a file that git ignores":     {"echo '*.env' > .gitignore; echo quiet-watch-room > a.env", nil},
		"what the origin has already": {"cat old.txt; echo x >> README.md", nil},
		"several files":               {"echo quiet-watch-room > a; echo b quiet-watch-room > b", []string{"a", "b"}},
		"the same file twice":         {"echo quiet-watch-room > a; git add a; git commit -qm A; echo quiet-watch-room 2 > a", []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, state := t.TempDir(), t.TempDir()
			at := repository(t, dir, "ledger")
			write(t, at, "old.txt", "it was quiet-watch-room once\n")
			gitIn(t, at, "add", "-A")
			gitIn(t, at, "commit", "-qm", "Old")
			w := begin(t, host(t, dir, state), Attempt{Repo: "ledger", Job: "FB-1", ID: "1", Epoch: 1})
			agent(t, w, "git config user.name A; git config user.email a@b.example; "+c.script)
			if _, _, err := w.Commit(t.Context(), "Work"); err != nil {
				t.Fatal(err)
			}
			quoted, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			got, err := w.Leaks(t.Context(), redact.NewSearch(quoted))
			slices.Sort(got)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("found in %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// A message is named by its commit.
func TestALeakInAMessageIsNamedByItsCommit(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	repository(t, dir, "ledger")
	w := begin(t, host(t, dir, state), Attempt{Repo: "ledger", Job: "FB-1", ID: "1", Epoch: 1})
	write(t, w.Dir, "a.txt", "a\n")
	commit, _, err := w.Commit(t.Context(), "With quiet-watch-room")
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.Leaks(t.Context(), redact.NewSearch(json.RawMessage(`"quiet-watch-room"`)))
	if err != nil || len(got) != 1 || !strings.Contains(got[0], commit[:12]) {
		t.Errorf("found in %q, %v", got, err)
	}
}

// What stood in the files that the work began from is no secret of it.
func TestAValueThatWasThereBeforeIsKnown(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	repository(t, dir, "ledger")
	w := begin(t, host(t, dir, state), Attempt{Repo: "ledger", Job: "FB-1", ID: "1", Epoch: 1})
	for text, want := range map[string]bool{"ledger": true, "# ledger": true, "ledgers": false, "l.dger": false, "": false, "-e": false} {
		if got := w.HadBefore(t.Context(), text); got != want {
			t.Errorf("of %q it says %v", text, got)
		}
	}
}

// A person learns what the files of a worktree lack, before anybody works on them.
func TestACheckoutSaysWhatItLacks(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	at := repository(t, dir, "ledger")
	write(t, at, ".gitattributes", "*.enc filter=vault\n*.txt text\n*.bin filter=lfs\n")
	for _, name := range []string{"a.enc", "b.enc", "c.enc", "d.enc", "e.enc", "f.enc", "g.enc", "h.txt"} {
		write(t, at, name, "sealed "+name+"\n")
	}
	write(t, at, "big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:"+strings.Repeat("a", 64)+"\nsize 1\n")
	gitIn(t, at, "-c", "filter.lfs.clean=cat", "-c", "filter.lfs.process=", "-c", "filter.lfs.required=false", "add", "-A")
	gitIn(t, at, "update-index", "--add", "--cacheinfo", "160000,"+gitIn(t, at, "rev-parse", "HEAD")+",vendor/module")
	gitIn(t, at, "commit", "-qm", "More")
	w := begin(t, host(t, dir, state), Attempt{Repo: "ledger", Job: "FB-1", ID: "1", Epoch: 1})
	said := strings.Join(w.Notes, "\n")
	for _, want := range []string{"vault", "a.enc, b.enc, c.enc, d.enc, e.enc and 2 more", "big.bin", "vendor/module"} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing says %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "h.txt") {
		t.Errorf("h.txt lacks nothing:\n%s", said)
	}
}
