package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// gitea speaks the REST API of Gitea and Forgejo, version 1.
type gitea struct {
	place
	http *http.Client
}

func newGitea(p place) *gitea { return &gitea{place: p, http: newClient()} }

// giteaPull is the part of their PullRequest that is read.
type giteaPull struct {
	Number    int         `json:"number"`
	HTMLURL   string      `json:"html_url"`
	State     string      `json:"state"`
	Merged    bool        `json:"merged"`
	MergedAs  *string     `json:"merge_commit_sha"`
	Mergeable bool        `json:"mergeable"`
	Head      giteaBranch `json:"head"`
	Base      giteaBranch `json:"base"`
}

type giteaBranch struct {
	Ref  string `json:"ref"`
	SHA  string `json:"sha"`
	Repo *struct {
		ID int64 `json:"id"`
	} `json:"repo"`
}

func (g giteaPull) pull(repo Repo) PullRequest {
	p := PullRequest{Repo: repo, Number: g.Number, URL: g.HTMLURL, Branch: g.Head.Ref, Head: g.Head.SHA,
		Base: g.Base.Ref, Open: g.State == "open", Unfit: !g.Mergeable}
	if g.Merged && g.MergedAs != nil {
		p.MergedAs = *g.MergedAs
	}
	return p
}

// Open opens a pull request, or returns the open one of the same branches.
func (g *gitea) Open(ctx context.Context, r Request) (PullRequest, error) {
	var made giteaPull
	body := map[string]string{"head": r.Head, "base": r.Base, "title": r.Title, "body": r.Body}
	err := g.call(ctx, http.MethodPost, r.Repo, "/pulls", body, &made)
	if status(err) != http.StatusConflict {
		return made.pull(r.Repo), err
	}
	for page := 1; page <= maxPages; page++ {
		var list []giteaPull
		at := fmt.Sprintf("/pulls?state=open&limit=%d&page=%d", pageSize, page)
		if err := g.call(ctx, http.MethodGet, r.Repo, at, nil, &list); err != nil {
			return PullRequest{}, err
		}
		for _, one := range list {
			here := one.Head.Repo != nil && one.Base.Repo != nil && one.Head.Repo.ID == one.Base.Repo.ID
			if here && one.Head.Ref == r.Head && one.Base.Ref == r.Base {
				return one.pull(r.Repo), nil
			}
		}
		if len(list) == 0 {
			break
		}
	}
	return PullRequest{}, err
}

// Get reads a pull request.
func (g *gitea) Get(ctx context.Context, repo Repo, number int) (PullRequest, error) {
	var one giteaPull
	err := g.call(ctx, http.MethodGet, repo, fmt.Sprintf("/pulls/%d", number), nil, &one)
	return one.pull(repo), err
}

// Checks says what the checks of a commit found.
func (g *gitea) Checks(ctx context.Context, repo Repo, commit string) (Checks, error) {
	var found Checks
	for page := 1; page <= maxPages; page++ {
		var all struct {
			Statuses []struct {
				Context string `json:"context"`
				Status  string `json:"status"`
			} `json:"statuses"`
		}
		at := fmt.Sprintf("/commits/%s/status?limit=%d&page=%d", url.PathEscape(commit), pageSize, page)
		if err := g.call(ctx, http.MethodGet, repo, at, nil, &all); err != nil {
			return Checks{}, err
		}
		for _, s := range all.Statuses {
			found.add(s.Context, s.Status)
		}
		if len(all.Statuses) == 0 {
			break
		}
	}
	return found, nil
}

// Merge merges a pull request if its head is that commit.
func (g *gitea) Merge(ctx context.Context, pull PullRequest, commit string, how Method) (string, error) {
	do := map[Method]string{MergeCommit: "merge", FastForward: "fast-forward-only"}[how]
	err := g.call(ctx, http.MethodPost, pull.Repo, fmt.Sprintf("/pulls/%d/merge", pull.Number),
		map[string]string{"Do": do, "head_commit_id": commit}, nil)
	if s := status(err); s == http.StatusMethodNotAllowed || s == http.StatusConflict {
		return "", fmt.Errorf("%w: %w", ErrNotYet, err)
	}
	if err != nil {
		return "", err
	}
	after, err := g.Get(ctx, pull.Repo, pull.Number)
	if err == nil && after.MergedAs == "" {
		err = fmt.Errorf("%w: %s says that it was merged, and not as what", ErrNotYet, g.at.Host)
	}
	return after.MergedAs, err
}

// call requests something of a repository and reads the answer into one.
func (g *gitea) call(ctx context.Context, method string, repo Repo, path string, body, into any) error {
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	at := g.at.String() + "/api/v1/repos/" + url.PathEscape(repo.Owner) + "/" + url.PathEscape(repo.Name) + path
	r, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(sent))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "token "+g.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	answer, err := g.http.Do(r)
	if err != nil {
		return g.failed(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode >= http.StatusMultipleChoices {
		var said struct {
			Message string `json:"message"`
		}
		_ = json.NewDecoder(answer.Body).Decode(&said) // without one the status says it
		return g.refused(answer, said.Message)
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		return g.failed(ctx, err)
	}
	return nil
}

// failed returns a call that broke off: what ended ctx, or no answer.
func (p place) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return p.unheard(err)
}

// status is that of a refusal, 0 for anything else.
func status(err error) int {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Status
	}
	return 0
}

// add takes a check with the state that forges call it by.
func (c *Checks) add(name, state string) {
	c.Any = true
	switch state {
	case "success", "neutral", "skipped", "warning":
	case "pending", "queued", "in_progress", "waiting", "requested":
		c.Pending = append(c.Pending, name)
	default:
		c.Failed = append(c.Failed, name)
	}
}
