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

// Publish makes sure that a branch at the origin is exactly the commit of a merge: the one
// that the work was handed in on or, where that is another commit or must not be written
// to, fleetboard/merge/JOB, which is nobody else's. The first commit of an empty repository is
// merged at once.
func (r *Repos) Publish(ctx context.Context, m MergeRequest, job string) (Published, error) {
	repo, m, remote, err := r.whereTo(ctx, m)
	if err != nil {
		return Published{}, err
	}
	if !remote {
		return Published{}, ErrNoOrigin
	}
	old, err := r.target(ctx, repo, m, true)
	if err != nil {
		return Published{}, err
	}
	if old == "" { // no pull request can be opened against nothing
		return Published{Into: m.Into, Merged: m.Commit}, r.move(ctx, repo, m.Into, "", m.Commit, true)
	}
	p, aside := Published{Branch: m.Branch, Into: m.Into}, asidePrefix+badInName.ReplaceAllString(job, "_")
	if _, err := git(ctx, repo.path, "merge-base", "--is-ancestor", m.Commit, old); err == nil {
		p.Merged = old
		return p, nil
	}
	if !goodBranch(p.Branch) || p.Branch == m.Into || p.Branch == repo.DefaultBranch {
		p.Branch = aside
	}
	there, err := atOrigin(ctx, repo, p.Branch)
	if err != nil {
		return Published{}, err
	}
	if there != "" && there != m.Commit && p.Branch != aside {
		p.Branch = aside
		if there, err = atOrigin(ctx, repo, aside); err != nil {
			return Published{}, err
		}
	}
	if there == m.Commit {
		return p, nil
	}
	_, err = git(
		ctx,
		repo.path,
		"push",
		"--quiet",
		"--no-verify",
		"--force-with-lease=refs/heads/"+p.Branch+":"+there,
		"origin",
		m.Commit+":refs/heads/"+p.Branch,
	)
	return p, err
}

// atOrigin is the newest commit of a branch there, "" where there is no such branch.
func atOrigin(ctx context.Context, repo Repo, branch string) (string, error) {
	said, err := git(ctx, repo.path, "ls-remote", "origin", "refs/heads/"+branch)
	commit, _, _ := strings.Cut(said, "\t")
	return commit, err
}

// Fits reports whether work can be merged into what the branch is now, without merging it.
// The error is ErrConflict where it cannot.
func (r *Repos) Fits(ctx context.Context, m MergeRequest) error {
	repo, m, remote, err := r.whereTo(ctx, m)
	if err != nil {
		return err
	}
	old, err := r.target(ctx, repo, m, remote)
	if err != nil {
		return err
	}
	_, err = r.result(ctx, repo, m, old)
	return err
}
