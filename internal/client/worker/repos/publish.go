package repos

import (
	"context"
	"errors"
	"strings"
)

// Published is approved work at the origin.
type Published struct {
	// Branch has the commit and nothing after it; Into is where it is to be merged.
	Branch, Into string
	// Merged is the newest commit of Into where the work is a part of it already.
	Merged string
}

// asidePrefix is that of branches which are for pull requests alone.
const asidePrefix = "fleetboard/merge/"

// ErrNoOrigin is a repository that is on this host alone.
var ErrNoOrigin = errors.New("the repository has no origin")

// Earlier is the branch of a pull request that an earlier merge of the work opened, with the
// commit that it was of; the zero value where none did.
type Earlier struct{ Branch, Commit string }

// Publish makes sure that a branch at the origin is exactly the commit of a merge: the one
// that the work was handed in on or, where that is another commit or must not be written
// to, fleetboard/merge/JOB, which is nobody else's. Where an earlier pull request of the work
// goes on, and nobody else has moved its branch, it is that one. The first commit of an empty
// repository is merged at once.
func (r *Repos) Publish(ctx context.Context, q MergeRequest, job string, e Earlier) (Published, error) {
	m, err := r.newMerge(ctx, q)
	if err != nil {
		return Published{}, err
	}
	if m.origin == "" {
		return Published{}, ErrNoOrigin
	}
	old, err := m.target(ctx)
	if err != nil {
		return Published{}, err
	}
	if old == "" { // no pull request can be opened against nothing
		return Published{Into: m.Into, Merged: m.Commit}, m.move(ctx, "", m.Commit)
	}
	p, aside := Published{Branch: m.Branch, Into: m.Into}, asidePrefix+badInName.ReplaceAllString(job, "_")
	if m.isMergedInto(ctx, old) {
		p.Merged = old
		return p, nil
	}
	if goesOn, err := m.goOn(ctx, e); goesOn || err != nil {
		p.Branch = e.Branch
		return p, err
	}
	if !goodBranch(p.Branch) || p.Branch == m.Into || p.Branch == m.knownDefault() {
		p.Branch = aside
	}
	there, err := m.atOrigin(ctx, p.Branch)
	if err != nil {
		return Published{}, err
	}
	if there != "" && there != m.Commit && p.Branch != aside {
		p.Branch = aside
		if there, err = m.atOrigin(ctx, aside); err != nil {
			return Published{}, err
		}
	}
	if there == m.Commit {
		return p, nil
	}
	return p, m.pushCommit(ctx, p.Branch, there, m.Commit)
}

// goOn puts the commit on the branch of an earlier pull request. It reports false where that
// cannot go on: somebody else has moved the branch, or it would have to be rewritten and is no
// worker's own.
func (m *merge) goOn(ctx context.Context, e Earlier) (bool, error) {
	if !goodBranch(e.Branch) || e.Branch == m.Into || e.Branch == m.knownDefault() || !isHash.MatchString(e.Commit) {
		return false, nil
	}
	there, err := m.atOrigin(ctx, e.Branch)
	switch {
	case err != nil || there == "":
		return false, err
	case there == m.Commit:
		return true, nil
	case there != e.Commit:
		return false, nil
	}
	if !isOurs(e.Branch) && !m.git().ok(ctx, "merge-base", "--is-ancestor", there, m.Commit) {
		return false, nil
	}
	return true, m.pushCommit(ctx, e.Branch, there, m.Commit)
}

// atOrigin returns the newest commit of a branch there, "" where there is no such branch.
func (m *merge) atOrigin(ctx context.Context, branch string) (string, error) {
	said, err := m.network().run(ctx, "ls-remote", "--quiet", "--end-of-options", m.origin, ours+branch)
	commit, _, _ := strings.Cut(said, "\t")
	return commit, err
}

// Fits reports whether work can be merged into what the branch is now, without merging it.
// The error is ErrConflict where it cannot.
func (r *Repos) Fits(ctx context.Context, q MergeRequest) error {
	m, err := r.newMerge(ctx, q)
	if err != nil {
		return err
	}
	old, err := m.target(ctx)
	if err != nil {
		return err
	}
	_, err = m.result(ctx, old)
	return err
}
