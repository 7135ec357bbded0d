package repositories

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// pointer returns what git holds of a file that LFS keeps.
func pointer(text string) string {
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%x\nsize %d\n", sha256.Sum256([]byte(text)), len(text))
}

// storeOf is where a file-based LFS keeps a text at the origin.
func (r *repository) storeOf(text string) string {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	return filepath.Join(r.origin(), "lfs", "objects", sum[:2], sum[2:4], sum)
}

// largeFiles commits pointers to the origin, whose contents are there where kept is said.
func largeFiles(kept bool) func(*repository) {
	return func(r *repository) {
		r.git(r.clone(), "remote", "set-url", "origin", "file://"+r.origin())
		r.put(r.clone(), ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n", 0o600)
		r.put(r.clone(), "old.bin", pointer("old contents\n"), 0o600)
		r.git(r.clone(), "add", "-A")
		r.git(r.clone(), "commit", "-q", "-m", "A large file")
		r.git(r.clone(), "push", "-q", "origin", "main")
		if kept {
			r.put(filepath.Dir(r.storeOf("old contents\n")), filepath.Base(r.storeOf("old contents\n")), "old contents\n", 0o600)
		}
	}
}

// module adds a submodule to the origin; one that is away cannot be fetched.
func module(away bool, url func(*repository) string) func(*repository) {
	return func(r *repository) {
		sub := r.other("module.git")
		at := r.other("module")
		r.git(r.host, "init", "-q", "-b", "main", at)
		r.put(at, "module.txt", "a module\n", 0o600)
		r.commit(at, "A module")
		r.git(r.host, "clone", "-q", "--bare", at, sub)
		r.git(r.clone(), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "vendor/module")
		r.git(r.clone(), "config", "--file", ".gitmodules", "submodule.vendor/module.url", url(r))
		r.commit(r.clone(), "With a module")
		r.git(r.clone(), "push", "-q", "origin", "main")
		if away {
			if err := os.RemoveAll(sub); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// besideOrigin is where a submodule lies beside the origin.
func (r *repository) besideOrigin() string {
	return filepath.Join(r.host, "origins", r.name+"-module.git")
}

// moduleBeside adds a submodule that lies beside the origin.
func moduleBeside(r *repository) {
	module(false, func(r *repository) string { return "../" + r.name + "-module.git" })(r)
	r.git(r.host, "clone", "-q", "--bare", r.other("module"), r.besideOrigin())
}

// isRescued reports a file that is not in a rescue directory of the host.
func isRescued(name, text string) func(*repository, outcome) {
	return func(r *repository, _ outcome) {
		for _, at := range []string{"*", "*/*"} {
			found, _ := filepath.Glob(filepath.Join(r.host, "state", at, "rescue", "*", "files", "vendor", "module", name))
			more, _ := filepath.Glob(filepath.Join(r.host, "state", "rescue", "*", "files", "vendor", "module", name))
			for _, path := range append(found, more...) {
				if got, err := os.ReadFile(path); err == nil && string(got) == text {
					return
				}
			}
		}
		r.t.Errorf("%s was not rescued", name)
	}
}

// extensions returns what a checkout alone does not give.
func extensions() []situation {
	attributes := "*.bin filter=lfs diff=lfs merge=lfs -text\n"
	return []situation{
		{name: "lfs-new-file", prepare: largeFiles(true), agent: "printf 'new contents\\n' > new.bin",
			adds: map[string]entry{"new.bin": file(pointer("new contents\n"))}, also: func(r *repository, _ outcome) {
				if text, err := os.ReadFile(r.storeOf("new contents\n")); err != nil || string(text) != "new contents\n" {
					r.t.Errorf("the origin's store has %q, %v", text, err)
				}
			}},
		{name: "lfs-contents-are-there", prepare: largeFiles(true), agent: "cp old.bin copy.txt", adds: map[string]entry{"copy.txt": file("old contents\n")}},
		{name: "lfs-contents-are-missing", prepare: largeFiles(false), agent: "cp old.bin copy.txt",
			adds: map[string]entry{"copy.txt": file(pointer("old contents\n"))}, says: []string{"LFS", "old.bin"}},
		{name: "lfs-begins", agent: "printf '%s' '" + attributes + "' > .gitattributes; echo big > a.bin", prepare: func(r *repository) {
			r.git(r.clone(), "remote", "set-url", "origin", "file://"+r.origin())
		}, adds: map[string]entry{".gitattributes": file(attributes), "a.bin": file(pointer("big\n"))}, also: func(r *repository, _ outcome) {
			if _, err := os.Stat(r.storeOf("big\n")); err != nil {
				r.t.Error(err)
			}
		}},
		{name: "lfs-elsewhere", prepare: func(r *repository) {
			r.git(r.host, "init", "-q", "--bare", r.other("store.git"))
			r.put(r.clone(), ".lfsconfig", "[lfs]\n\turl = file://"+r.other("store.git")+"\n", 0o600)
			largeFiles(false)(r)
		}, agent: "printf 'new contents\\n' > new.bin; echo '[lfs]' > .lfsconfig; echo ' url = file://@ORIGIN@' >> .lfsconfig", adds: map[string]entry{
			"new.bin": file(pointer("new contents\n"))}, loose: []string{".lfsconfig"}, also: func(r *repository, _ outcome) {
			if found := below(r.t, r.other("store.git"), filepath.Base(r.storeOf("new contents\n"))); len(found) != 1 {
				r.t.Errorf("the store has %v", found)
			}
		}},
		{name: "filter-is-missing", prepare: func(r *repository) {
			r.put(r.clone(), ".gitattributes", "*.enc filter=vault\n", 0o600)
			r.put(r.clone(), "a.enc", "sealed\n", 0o600)
			r.commit(r.clone(), "Sealed")
			r.git(r.clone(), "push", "-q", "origin", "main")
			r.git(r.clone(), "config", "filter.vault.required", "true")
			r.git(r.clone(), "config", "filter.vault.smudge", "false")
			r.git(r.clone(), "config", "filter.vault.clean", "false")
		}, agent: "cp a.enc copy.txt", adds: map[string]entry{"copy.txt": file("sealed\n")}, says: []string{"vault", "a.enc"}},
		{name: "module-away", prepare: module(false, func(r *repository) string { return "../other-" + r.name + "-module.git" }),
			agent: "echo x > x; ls vendor/module > seen.txt", adds: map[string]entry{"x": file("x\n"), "seen.txt": file("")},
			says: []string{"The submodule vendor/module is not checked out"}},
		{name: "module-is-away", prepare: module(true, func(r *repository) string { return r.other("module.git") }),
			agent: "echo x > x", adds: map[string]entry{"x": file("x\n")}, says: []string{"vendor/module"}},
		{name: "module-beside", prepare: moduleBeside, agent: "cat vendor/module/module.txt > seen.txt; " +
			"[ $(git -C vendor/module rev-parse HEAD) = $(git rev-parse HEAD:vendor/module) ]; git diff --submodule=short > status.txt",
			adds: map[string]entry{"seen.txt": file("a module\n"), "status.txt": file("")}},
		{name: "module-within-a-module", prepare: func(r *repository) {
			moduleBeside(r)
			inner, outer := r.other("inner"), r.other("module")
			r.git(r.host, "init", "-q", "-b", "main", inner)
			r.put(inner, "inner.txt", "inside\n", 0o600)
			r.commit(inner, "Inside")
			r.git(r.host, "clone", "-q", "--bare", inner, filepath.Join(r.host, "origins", r.name+"-inner.git"))
			r.git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "inner")
			r.git(outer, "config", "--file", ".gitmodules", "submodule.inner.url", "../"+r.name+"-inner.git")
			r.commit(outer, "With one inside")
			r.git(outer, "push", "-q", r.besideOrigin(), "main")
			r.git(filepath.Join(r.clone(), "vendor/module"), "pull", "-q", r.besideOrigin(), "main")
			r.commit(r.clone(), "Newer")
			r.git(r.clone(), "push", "-q", "origin", "main")
		}, agent: "cat vendor/module/inner/inner.txt > seen.txt", adds: map[string]entry{"seen.txt": file("inside\n")}},
		{name: "module-is-bumped", prepare: func(r *repository) {
			moduleBeside(r)
			r.put(r.other("module"), "module.txt", "newer\n", 0o600)
			r.commit(r.other("module"), "Newer")
			r.git(r.other("module"), "push", "-q", r.besideOrigin(), "main")
		}, agent: "git -C vendor/module -c protocol.file.allow=always fetch -q origin main; git -C vendor/module checkout -q FETCH_HEAD; cat vendor/module/module.txt > seen.txt",
			adds: map[string]entry{"seen.txt": file("newer\n")}, loose: []string{"vendor/module"}, also: func(r *repository, o outcome) {
				if want := r.git(r.other("module"), "rev-parse", "HEAD"); r.git(o.at, "rev-parse", o.commit+":vendor/module") != want {
					r.t.Errorf("the submodule is not %s", want)
				}
			}},
		{name: "module-is-edited", prepare: moduleBeside, agent: "echo mine > vendor/module/mine.txt; echo x > x", adds: map[string]entry{"x": file("x\n")},
			says: []string{"Work in the submodule vendor/module is not handed in, since files in it are not committed"}, also: isRescued("mine.txt", "mine\n")},
		{name: "module-has-a-commit", prepare: moduleBeside, agent: "cd vendor/module; echo mine > mine.txt; git add -A; git commit -qm Mine; cd ../..; echo x > x",
			adds: map[string]entry{"x": file("x\n")},
			says: []string{"Work in the submodule vendor/module is not handed in, since its commit is not at its origin"}, also: isRescued("mine.txt", "mine\n")},
		{name: "module-elsewhere", prepare: module(false, func(r *repository) string { return r.other("module.git") }),
			agent: "ls vendor/module > seen.txt", adds: map[string]entry{"seen.txt": file("")}, says: []string{"vendor/module", "not beside the origin"}},
		{name: "module-of-a-stranger", prepare: module(false, func(*repository) string { return "https://stranger.invalid/module.git" }),
			agent: "ls vendor/module > seen.txt", adds: map[string]entry{"seen.txt": file("")}, says: []string{"vendor/module", "stranger.invalid is not"}},
		{name: "module-runs-a-program", prepare: module(false, func(r *repository) string { return "ext::sh -c 'echo ran >> " + r.mark() + "'" }),
			agent: "ls vendor/module > seen.txt", adds: map[string]entry{"seen.txt": file("")}, says: []string{"vendor/module", "no address"}},
		{name: "module-is-an-option", prepare: module(false, func(r *repository) string { return "--upload-pack=touch " + r.mark() }),
			agent: "ls vendor/module > seen.txt", adds: map[string]entry{"seen.txt": file("")}, says: []string{"vendor/module", "no address"}},
		{name: "module-changes", prepare: module(true, func(r *repository) string { return r.other("module.git") }),
			agent: "rm -rf vendor; echo x > x", adds: map[string]entry{"x": file("x\n")}, gone: []string{"vendor/module"}},
	}
}

// below returns the paths below a directory that have a name.
func below(t *testing.T, dir, name string) (found []string) {
	t.Helper()
	for path := range fingerprint(t, dir) {
		if filepath.Base(path) == name {
			found = append(found, path)
		}
	}
	return found
}
