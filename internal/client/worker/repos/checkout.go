package repos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// checkout writes the files of a commit into a directory, which it makes, and what git knows
// of them into an index.
func (m *mirror) checkout(ctx context.Context, dir, index, commit string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	c := m.network()
	// Git LFS fetches files here.
	c.settings = append(append(c.settings[:len(c.settings):len(c.settings)], m.filters()...), setting{"remote.origin.url", m.origin})
	c.dir, c.workTree, c.index, c.longest = dir, dir, index, clonePatience
	if err := c.do(ctx, "read-tree", "-m", "-u", commit); err != nil {
		return withoutLargeFiles(ctx, c, commit, err)
	}
	return nil
}

// furnish makes the repository of a checked out commit: with a branch, or detached where
// that is "". Its objects are the mirror's; its settings, branches, hooks and stash are its
// own.
func (m *mirror) furnish(ctx context.Context, dir, index, branch, commit string, author Identity) error {
	format := "sha1"
	if len(commit) == 64 {
		format = "sha256"
	}
	c := call{dir: dir}
	if err := c.do(ctx, "init", "--quiet", "--template=", "--object-format="+format, dir); err != nil {
		return err
	}
	at := filepath.Join(dir, ".git")
	refs, err := m.refsFor(ctx, branch, commit)
	if err != nil {
		return err
	}
	head := commit + "\n"
	if branch != "" {
		head = "ref: " + ours + branch + "\n"
	}
	files := map[string]string{"objects/info/alternates": filepath.Join(m.dir, "objects") + "\n", "packed-refs": refs, "HEAD": head}
	if name := m.knownDefault(); name != "" && m.origin != "" {
		files["refs/remotes/origin/HEAD"] = "ref: " + theirs + name + "\n"
	}
	for from, to := range map[string]string{
		filepath.Join(m.dir, "shallow"):         "shallow",
		filepath.Join(m.dir, "info", "exclude"): "info/exclude",
		index:                                   "index",
	} {
		text, err := os.ReadFile(from)
		if err == nil {
			files[to] = string(text)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name, text := range files {
		path := filepath.Join(at, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return m.configure(at, author)
}

// configure adds to the settings of an agent's repository. Commits are made in the name of
// the person, where the host knows one.
func (m *mirror) configure(at string, author Identity) error {
	settings := []setting{{"user.name", cmp.Or(m.person.name, author.Name)}, {"user.email", cmp.Or(m.email, author.Email)},
		{"core.autocrlf", "false"}, {"gc.auto", "0"}, {"lfs.storage", filepath.Join(m.dir, "lfs")}}
	if m.origin != "" {
		settings = append(settings, setting{"remote.origin.url", withoutCredentials(m.origin)},
			setting{"remote.origin.fetch", "+refs/heads/*:" + theirs + "*"})
	}
	var text strings.Builder
	for _, s := range settings {
		parts := strings.SplitN(s.key, ".", 3)
		section := parts[0]
		if len(parts) == 3 {
			section += ` "` + parts[1] + `"`
		}
		fmt.Fprintf(&text, "[%s]\n\t%s = \"%s\"\n", section, parts[len(parts)-1], inQuotes.Replace(s.value))
	}
	file, err := os.OpenFile(filepath.Join(at, "config"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text.String())
	return errors.Join(err, file.Close())
}

// inQuotes writes a value as it stands between quotes in a file of git's settings.
var inQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)

// refsFor returns the branches and tags that an agent finds, as git packs them: those of the
// origin or, where there is none, of the clone.
func (m *mirror) refsFor(ctx context.Context, branch, commit string) (string, error) {
	list, err := m.git().run(ctx, "for-each-ref", "--format=%(objectname) %(refname)", theirs, "refs/tags/")
	if err != nil {
		return "", err
	}
	commits := map[string]string{}
	for line := range strings.Lines(list) {
		hash, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		short, isBranch := strings.CutPrefix(name, theirs)
		switch {
		case isBranch && m.origin == "" && short != strings.TrimSuffix(branchPrefix, "/"):
			name = ours + short
		case isBranch && short == m.knownDefault():
			commits[ours+short] = hash
		}
		commits[name] = hash
	}
	if branch != "" {
		commits[ours+branch] = commit
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(commits)) {
		fmt.Fprintf(&text, "%s %s\n", commits[name], name)
	}
	return text.String(), nil
}
