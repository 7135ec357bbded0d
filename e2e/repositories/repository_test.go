package repositories

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository is a person's clone on a host, and its origin.
type repository struct {
	t    *testing.T
	host string // the host's directory
	name string
	// place is the name of the clone's directory; the repository's own where nothing else is said.
	place string
	// format is of its objects, "sha1" or "sha256".
	format string
}

func (r *repository) clone() string  { return filepath.Join(r.host, "repos", r.place) }
func (r *repository) origin() string { return filepath.Join(r.host, "origins", r.name+".git") }

// other returns a path of the host that is in nobody's way.
func (r *repository) other(name string) string {
	return filepath.Join(r.host, "other-"+r.name+"-"+name)
}

// build makes an origin with two commits on main, and a clone of it.
func (r *repository) build() {
	r.t.Helper()
	at := r.other("first")
	r.git(r.host, "init", "-q", "-b", "main", "--object-format="+r.format, at)
	r.put(at, "README.md", "# Ledger\n", 0o600)
	r.commit(at, "Begin")
	r.put(at, "src/main.txt", "one\ntwo\nthree\n", 0o600)
	r.put(at, "bin/run", "#!/bin/sh\necho run\n", 0o700)
	if err := os.Symlink("README.md", filepath.Join(at, "latest")); err != nil {
		r.t.Fatal(err)
	}
	r.commit(at, "Count to three")
	r.git(r.host, "clone", "-q", "--bare", at, r.origin())
	r.atHome()
	r.git(r.host, "clone", "-q", r.origin(), r.clone())
}

// atHome has the origin's own git take no settings of this machine, as one elsewhere takes
// none.
func (r *repository) atHome() {
	r.t.Helper()
	r.git(r.origin(), "config", "core.hooksPath", "hooks")
	r.git(r.origin(), "config", "core.fsmonitor", "false")
}

// commit commits all there is in a directory, as a person.
func (r *repository) commit(at, message string) {
	r.t.Helper()
	r.git(at, "add", "-A")
	r.git(at, "commit", "-q", "-m", message)
}

// put writes a file below a directory.
func (r *repository) put(at, name, text string, mode fs.FileMode) {
	r.t.Helper()
	path := filepath.Join(at, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		r.t.Fatal(err)
	}
}

// hook writes a hook into a repository's directory of them.
func (r *repository) hook(gitDir, name, script string) {
	r.t.Helper()
	r.put(gitDir, "hooks/"+name, "#!/bin/sh\n"+r.expand(script)+"\n", 0o700)
}

// expand writes this repository's paths into a script.
func (r *repository) expand(script string) string {
	return strings.NewReplacer("@CLONE@", r.clone(), "@ORIGIN@", r.origin(), "@OTHER@", r.other(""), "@HOST@", r.host,
		"@MARK@", r.mark()).Replace(script)
}

// mark returns a file that must never be made: what makes it was run by the worker's own git.
func (r *repository) mark() string { return r.other("mark") }

// git runs git as a person would, whose machine has no settings.
func (r *repository) git(dir string, args ...string) string {
	r.t.Helper()
	out, err := r.tryGit(dir, args...)
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

func (r *repository) tryGit(dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.host, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_OPTIONAL_LOCKS=0", "GIT_AUTHOR_NAME=Mara", "GIT_AUTHOR_EMAIL=mara@kestrel.example", "GIT_COMMITTER_NAME=Mara",
		"GIT_COMMITTER_EMAIL=mara@kestrel.example", "GIT_EDITOR=true"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// entry is what a name of a tree stands for: its mode, and the text of the blob.
type entry struct{ mode, text string }

func file(text string) entry    { return entry{"100644", text} }
func program(text string) entry { return entry{"100755", text} }
func link(to string) entry      { return entry{"120000", to} }

// line returns an entry as tree writes it.
func (r *repository) line(e entry) string { return e.mode + " blob " + r.blobName(e.text) }

// blobName is git's name of a blob.
func (r *repository) blobName(text string) string {
	object := fmt.Appendf(nil, "blob %d\x00%s", len(text), text)
	if r.format == "sha256" {
		sum := sha256.Sum256(object)
		return hex.EncodeToString(sum[:])
	}
	sum := sha1.Sum(object)
	return hex.EncodeToString(sum[:])
}

// tree returns what a commit holds: for each path its mode, type and hash. It is empty where there
// is no such commit.
func (r *repository) tree(at, commit string) map[string]string {
	r.t.Helper()
	held := map[string]string{}
	out, err := r.tryGit(at, "ls-tree", "-r", "-z", commit)
	if err != nil {
		return held
	}
	for one := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if what, path, ok := strings.Cut(one, "\t"); ok {
			held[path] = what
		}
	}
	return held
}

// refs returns the branches, tags and other names of a repository, with what they stand for.
func (r *repository) refs(at string) map[string]string {
	r.t.Helper()
	held := map[string]string{}
	out, err := r.tryGit(at, "for-each-ref", "--format=%(refname) %(objectname)")
	if err != nil {
		return held // it is away
	}
	for one := range strings.Lines(out) {
		name, object, _ := strings.Cut(strings.TrimSpace(one), " ")
		held[name] = object
	}
	return held
}

// fingerprint returns all that is below a directory: each path with its mode and its contents.
func fingerprint(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += fmt.Sprintf(" %x", sha256.Sum256(text))
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what += " " + to
		}
		found[name] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// differences returns the keys that two maps do not have in common, each with a word.
func differences(before, after map[string]string) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		switch now, there := after[name]; {
		case !there:
			all = append(all, fmt.Sprintf("gone: %q (%s)", name, before[name]))
		case now != before[name]:
			all = append(all, fmt.Sprintf("changed: %q from %s to %s", name, before[name], now))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, there := before[name]; !there {
			all = append(all, fmt.Sprintf("new: %q (%s)", name, after[name]))
		}
	}
	return all
}
