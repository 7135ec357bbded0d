package repos

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// askDefault finds out which branch attempts begin from, and keeps its name. The origin is
// queried each time: branches are renamed.
func (m *mirror) askDefault(ctx context.Context) error {
	branch := ""
	if m.origin == "" {
		branch = m.headBranch(ctx)
	} else {
		said, err := m.network().run(ctx, "ls-remote", "--quiet", "--symref", "--end-of-options", m.origin, "HEAD")
		if err != nil {
			return err
		}
		if line, _, _ := strings.Cut(said, "\t"); strings.HasPrefix(line, "ref: refs/heads/") {
			branch = strings.TrimPrefix(line, "ref: refs/heads/")
		}
	}
	return m.keepDefault(ctx, branch)
}

// guessDefault keeps the default branch that the clone knows of, where the origin was never
// reached.
func (m *mirror) guessDefault(ctx context.Context) error {
	if m.knownDefault() != "" {
		return nil
	}
	known := ""
	if m.clone != "" {
		known, _ = m.inClone().run(ctx, "symbolic-ref", "--quiet", theirs+"HEAD") // some clones have none
	}
	return m.keepDefault(ctx, strings.TrimPrefix(known, theirs))
}

// keepDefault keeps the name of the default branch or, where there is no such branch, of the
// one that takes its place.
func (m *mirror) keepDefault(ctx context.Context, branch string) error {
	if _, ok := m.resolveCommit(ctx, theirs+branch); !ok || branch == "" {
		usual, err := m.usual(ctx)
		if err != nil {
			return err
		}
		branch = usual
	}
	return os.WriteFile(filepath.Join(m.dir, defaultFile), []byte(branch), 0o600)
}

// errNoDefault is a repository with branches of which nobody says where to begin.
var errNoDefault = errors.New("the repository has branches, and its HEAD names none of them: name its default branch")

// usual returns the branch that takes the place of a default branch that there is not: one of the
// usual names, the one that the clone is on, or the only one. Where there is no branch at all
// it is "".
func (m *mirror) usual(ctx context.Context) (string, error) {
	list, err := m.git().run(ctx, "for-each-ref", "--format=%(refname)", theirs)
	if err != nil {
		return "", err
	}
	var names []string
	for ref := range strings.FieldsSeq(list) {
		if name := strings.TrimPrefix(ref, theirs); !isOurs(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	for _, name := range []string{"main", "master", m.initial} {
		if slices.Contains(names, name) {
			return name, nil
		}
	}
	if m.clone != "" {
		if on := m.headBranch(ctx); slices.Contains(names, on) {
			return on, nil
		}
	}
	if len(names) == 1 {
		return names[0], nil
	}
	return "", errNoDefault
}

// isOurs reports whether a branch has a name that the worker gives.
func isOurs(branch string) bool {
	for _, prefix := range []string{branchPrefix, quarantinePrefix, asidePrefix} {
		if strings.HasPrefix(branch, prefix) {
			return true
		}
	}
	return false
}

// knownDefault returns the default branch as it was said last, "" where nobody knows.
func (m *mirror) knownDefault() string {
	name, _ := os.ReadFile(filepath.Join(m.dir, defaultFile)) // there is none before the first fetch
	return string(name)
}

// beginning returns the commit that attempts begin from, and its branch. The commit is "" where
// nothing is committed anywhere yet; the branch is the one that the first commit is for then.
func (m *mirror) beginning(ctx context.Context) (branch, commit string, err error) {
	branch = m.knownDefault()
	if branch != "" {
		if commit, ok := m.resolveCommit(ctx, theirs+branch); ok {
			return branch, commit, nil
		}
	}
	if m.clone == "" {
		return m.unborn(ctx), "", nil
	}
	return m.beginningOfClone(ctx)
}

// beginningOfClone is where the clone is, where the origin has nothing: on a branch, or on a
// commit alone.
func (m *mirror) beginningOfClone(ctx context.Context) (branch, commit string, err error) {
	branch = m.headBranch(ctx)
	if commit, ok := m.resolveCommit(ctx, "refs/clone/"+branch); ok && branch != "" {
		return branch, commit, nil
	}
	if branch == "" { // detached
		at, err := m.inClone().run(ctx, "rev-parse", "--verify", "HEAD^{commit}")
		if err != nil {
			return "", "", err
		}
		c := m.network()
		c.longest = clonePatience
		err = c.do(ctx, "fetch", "--quiet", "--no-tags", "--update-shallow", "--no-write-fetch-head", m.clone, "+HEAD:refs/clone-head")
		return "", at, err
	}
	return branch, "", nil
}

// unborn returns the branch that the first commit is for.
func (s source) unborn(ctx context.Context) string {
	if branch := s.headBranch(ctx); branch != "" {
		return branch
	}
	if s.initial != "" {
		return s.initial
	}
	return "main"
}
