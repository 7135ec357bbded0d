package repositories

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// pointer is what git holds of a file that LFS keeps.
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

// extensions are what a checkout alone does not give.
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
		{name: "module-beside", prepare: module(false, func(r *repository) string { return "../other-" + r.name + "-module.git" }),
			agent: "echo x > x; ls vendor/module > seen.txt", adds: map[string]entry{"x": file("x\n"), "seen.txt": file("")},
			says: []string{"vendor/module"}},
		{name: "module-is-away", prepare: module(true, func(r *repository) string { return r.other("module.git") }),
			agent: "echo x > x", adds: map[string]entry{"x": file("x\n")}, says: []string{"vendor/module"}},
		{name: "module-changes", prepare: module(true, func(r *repository) string { return r.other("module.git") }),
			agent: "rm -rf vendor; echo x > x", adds: map[string]entry{"x": file("x\n")}, gone: []string{"vendor/module"}},
	}
}

// below are the paths below a directory that have a name.
func below(t *testing.T, dir, name string) (found []string) {
	t.Helper()
	for path := range fingerprint(t, dir) {
		if filepath.Base(path) == name {
			found = append(found, path)
		}
	}
	return found
}
