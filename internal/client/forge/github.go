package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-github/v89/github"
)

// gitHub speaks the REST API of GitHub.
type gitHub struct {
	place
	api *github.Client
}

func newGitHub(p place) (*gitHub, error) {
	options := []github.ClientOptionsFunc{github.WithHTTPClient(newClient()), github.WithAuthToken(p.token)}
	if p.at.String() != publicGitHub {
		options = append(options, github.WithEnterpriseURLs(p.at.String(), p.at.String()))
	}
	api, err := github.NewClient(options...)
	return &gitHub{place: p, api: api}, err
}

// toPullRequest returns a pull request as GitHub describes it.
func toPullRequest(repo Repo, g *github.PullRequest) PullRequest {
	p := PullRequest{Repo: repo, Number: g.GetNumber(), URL: g.GetHTMLURL(), Branch: g.GetHead().GetRef(), Head: g.GetHead().GetSHA(),
		Base: g.GetBase().GetRef(), Open: g.GetState() == "open", Unfit: !g.GetMergeable()}
	if g.GetMerged() {
		p.MergedAs = g.GetMergeCommitSHA()
	}
	return p
}

// Open opens a pull request, or returns the open one of the same branches.
func (g *gitHub) Open(ctx context.Context, r Request) (PullRequest, error) {
	made, _, err := g.api.PullRequests.Create(ctx, r.Repo.Owner, r.Repo.Name,
		&github.NewPullRequest{Title: &r.Title, Body: &r.Body, Head: &r.Head, Base: &r.Base})
	if err == nil {
		return toPullRequest(r.Repo, made), nil
	}
	if err = g.refusal(ctx, err); status(err) != http.StatusUnprocessableEntity {
		return PullRequest{}, err
	}
	list, _, failed := g.api.PullRequests.List(ctx, r.Repo.Owner, r.Repo.Name,
		&github.PullRequestListOptions{State: "open", Head: r.Repo.Owner + ":" + r.Head, Base: r.Base})
	if failed != nil {
		return PullRequest{}, g.refusal(ctx, failed)
	}
	for _, one := range list {
		if one.GetHead().GetRef() == r.Head && one.GetBase().GetRef() == r.Base {
			return toPullRequest(r.Repo, one), nil
		}
	}
	return PullRequest{}, err
}

// Get reads a pull request.
func (g *gitHub) Get(ctx context.Context, repo Repo, number int) (PullRequest, error) {
	one, _, err := g.api.PullRequests.Get(ctx, repo.Owner, repo.Name, number)
	if err != nil {
		return PullRequest{}, g.refusal(ctx, err)
	}
	return toPullRequest(repo, one), nil
}

// Checks says what the statuses and check runs of a commit found.
func (g *gitHub) Checks(ctx context.Context, repo Repo, commit string) (Checks, error) {
	var found Checks
	statuses := &github.ListOptions{PerPage: pageSize}
	for range maxPages {
		page, answer, err := g.api.Repositories.GetCombinedStatus(ctx, repo.Owner, repo.Name, commit, statuses)
		if err != nil {
			return Checks{}, g.refusal(ctx, err)
		}
		for _, s := range page.Statuses {
			found.add(s.GetContext(), s.GetState())
		}
		if statuses.Page = answer.NextPage; statuses.Page == 0 {
			break
		}
	}
	runs := &github.ListCheckRunsOptions{ListOptions: github.ListOptions{PerPage: pageSize}}
	for range maxPages {
		page, answer, err := g.api.Checks.ListCheckRunsForRef(ctx, repo.Owner, repo.Name, commit, runs)
		if err != nil {
			return Checks{}, g.refusal(ctx, err)
		}
		for _, r := range page.CheckRuns {
			state := r.GetStatus()
			if state == "completed" {
				state = r.GetConclusion()
			}
			found.add(r.GetName(), state)
		}
		if runs.Page = answer.NextPage; runs.Page == 0 {
			break
		}
	}
	return found, nil
}

// Merge merges a pull request if its head is that commit. GitHub has no method that moves
// the branch forward and makes no commit, so that is done to the branch itself; the pull
// request counts as merged then.
func (g *gitHub) Merge(ctx context.Context, pull PullRequest, commit string, how Method) (merged string, err error) {
	owner, name := pull.Repo.Owner, pull.Repo.Name
	if how == FastForward {
		merged = commit
		_, _, err = g.api.Git.UpdateRef(ctx, owner, name, "heads/"+pull.Base, github.UpdateRef{SHA: commit, Force: new(false)})
	} else {
		var done *github.PullRequestMergeResult
		done, _, err = g.api.PullRequests.Merge(ctx, owner, name, pull.Number, "",
			&github.PullRequestOptions{SHA: commit, MergeMethod: "merge"})
		merged = done.GetSHA()
	}
	err = g.refusal(ctx, err)
	switch status(err) {
	case http.StatusMethodNotAllowed, http.StatusConflict, http.StatusUnprocessableEntity:
		return "", fmt.Errorf("%w: %w", ErrNotYet, err)
	}
	return merged, err
}

// refusal returns an error of the library as one of ours, nil for none.
func (g *gitHub) refusal(ctx context.Context, err error) error {
	var answered *github.ErrorResponse
	var limited *github.RateLimitError
	var hurried *github.AbuseRateLimitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &limited):
		r := g.refused(limited.Response, limited.Message)
		r.Again, r.After = true, max(r.After, time.Until(limited.Rate.Reset.Time))
		return r
	case errors.As(err, &hurried):
		r := g.refused(hurried.Response, hurried.Message)
		r.Again = true
		if hurried.RetryAfter != nil {
			r.After = max(r.After, *hurried.RetryAfter)
		}
		return r
	case errors.As(err, &answered):
		said := []string{answered.Message}
		for _, e := range answered.Errors {
			said = append(said, e.Message)
		}
		return g.refused(answered.Response, strings.Join(said, " "))
	}
	return g.failed(ctx, err)
}
