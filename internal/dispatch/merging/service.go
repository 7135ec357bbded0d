package merging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"fleetboard/db"
	"fleetboard/internal/dispatch/actions"
	"fleetboard/internal/dispatch/lease"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

const (
	// Kind is that of the jobs that merge.
	Kind = "merge"
	// loop is what events name as who decides.
	loop = "merging"
	// atOnce bounds what one cycle does in a workspace.
	atOnce = 50
	// Capability is that of factories that can open a pull request.
	Capability = "pull_request"
	// urgent is the least priority of a merge job: work that is done should not wait behind
	// work that begins.
	urgent = 7
	// maxShort bounds a title within a title, in characters.
	maxShort = 150
)

// Creator makes jobs.
type Creator interface {
	Create(ctx context.Context, who tenancy.Principal, from jobs.Origin, in ...jobs.New) (jobs.Created, error)
}

// Actor decides about jobs.
type Actor interface {
	Act(ctx context.Context, who tenancy.Principal, keyOrID string, a actions.Action) (jobs.Job, error)
}

// Service has approved work merged.
type Service struct {
	db     *db.DB
	jobs   Creator
	actor  Actor
	public string
}

// New returns the merging of a database. public is the address that people reach the server
// by, which pull requests name; "" where nobody said.
func New(d *db.DB, list Creator, actor Actor, public string) *Service {
	return &Service{db: d, jobs: list, actor: actor, public: strings.TrimSuffix(public, "/")}
}

// MergeApproved decides about merges that have ended, ends those that are not wanted any
// more, and begins those that are, in all workspaces. It returns how many of these it did. A
// workspace that fails keeps no other from its turn.
func (s *Service) MergeApproved(ctx context.Context) (total int, err error) {
	list, err := workspaces(ctx, s.db)
	for _, workspace := range list {
		if ctx.Err() != nil {
			return total, errors.Join(err, ctx.Err())
		}
		n, failed := s.inWorkspace(ctx, workspace)
		total, err = total+n, errors.Join(err, failed)
	}
	return total, err
}

func (s *Service) inWorkspace(ctx context.Context, workspace ids.ID) (n int, err error) {
	open, err := s.open(ctx, workspace)
	if err != nil {
		return 0, err
	}
	for _, m := range open {
		did, failed := s.look(ctx, workspace, m)
		if did {
			n++
		}
		err = errors.Join(err, failed)
	}
	wanted, failed := s.wanted(ctx, workspace)
	err = errors.Join(err, failed)
	for _, w := range wanted {
		if failed := s.begin(ctx, workspace, w); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		n++
	}
	return n, err
}

// openMerge is a merge about which nothing is decided yet.
type openMerge struct {
	merge, job             ids.ID
	mergeKey, key          string
	mergeStatus, jobStatus jobs.Status
	lastError, commit, url string
}

// look decides about a merge, where there is something to decide.
func (s *Service) look(ctx context.Context, workspace ids.ID, m openMerge) (did bool, err error) {
	ended := m.mergeStatus == jobs.Completed || m.mergeStatus == jobs.Failed || m.mergeStatus == jobs.Aborted ||
		m.mergeStatus == jobs.Archived
	switch {
	case ended:
		return s.conclude(ctx, workspace, m)
	case m.jobStatus != jobs.Approved:
		return true, s.act(ctx, workspace, m.mergeKey, actions.Action{Verb: jobs.ByCancel, Reason: m.key + " is not approved any more."})
	}
	return false, nil
}

// conclude decides about the job and closes the merge; not yet while the job has children
// that are open.
func (s *Service) conclude(ctx context.Context, workspace ids.ID, m openMerge) (did bool, err error) {
	err = s.decide(ctx, workspace, m)
	switch {
	case err == nil:
		return true, s.close(ctx, workspace, m.merge)
	case fault.Is(err, fault.ChildrenOpen):
		return false, nil
	}
	return false, err
}

// decide does with the job what became of its merge. A job that somebody else has decided
// about is left as it is.
func (s *Service) decide(ctx context.Context, workspace ids.ID, m openMerge) error {
	switch {
	case m.jobStatus != jobs.Approved:
		return nil
	case m.mergeStatus == jobs.Completed:
		return s.act(ctx, workspace, m.key, actions.Action{Verb: jobs.ByMerge, Commit: m.commit, URL: address(m.url)})
	case m.lastError != "" && m.mergeStatus == jobs.Failed:
		return s.act(ctx, workspace, m.key, actions.Action{Verb: jobs.ByMergeFail, Reason: short(m.lastError, actions.MaxReason)})
	}
	return s.act(ctx, workspace, m.key, actions.Action{Verb: jobs.ByMergeFail, Reason: "The merge job " + m.mergeKey + " was ended."})
}

// address is what a factory says is the address of a merge, "" where it is none.
func address(url string) string {
	p := fault.Problems{}
	if p.Line("url", url, jobs.MaxURL); len(p) > 0 || !lease.IsWebAddress(url) {
		return ""
	}
	return url
}

// act carries a decision out, unless the job's status allows it no more.
func (s *Service) act(ctx context.Context, workspace ids.ID, key string, a actions.Action) error {
	_, err := s.actor.Act(ctx, tenancy.System(workspace, loop), key, a)
	if f := fault.From(err); err != nil && f.Code != fault.InvalidTransition && f.Code != fault.NotFound {
		return fmt.Errorf("%s of %s: %w", a.Verb, key, err)
	}
	return nil
}

// wantedMerge is approved work that a factory is to merge.
type wantedMerge struct {
	job                       ids.ID
	key, title, repo, product string
	priority                  int
	commit, branch            string
	by, method, into, checks  string
	times                     int64
}

// order is what the factory is told, in input_context.
type order struct {
	Job    string `json:"job"`
	Title  string `json:"title"`
	URL    string `json:"url,omitempty"`
	By     string `json:"by"`
	Commit string `json:"commit"`
	Branch string `json:"branch"`
	Into   string `json:"into"`
	Method string `json:"method"`
	Checks string `json:"checks"`
}

// begin makes the merge job. The key makes it one, also where two processes do this at once.
func (s *Service) begin(ctx context.Context, workspace ids.ID, w wantedMerge) error {
	said, err := json.Marshal(map[string]order{"merge": s.orderOf(w)})
	if err != nil {
		return err
	}
	var needs []string
	if w.by == jobs.MergeByPullRequest {
		needs = []string{Capability}
	}
	priority, review := max(w.priority, urgent), false
	created, err := s.jobs.Create(ctx, tenancy.System(workspace, loop), jobs.Origin{}, jobs.New{
		Title: fmt.Sprintf("Merge %s: %s", w.key, short(w.title, maxShort-len(w.key))), Kind: Kind, Product: w.product, Repo: w.repo,
		Capabilities: needs, Priority: &priority, ReviewRequired: &review, InputContext: said,
		IdempotencyKey: fmt.Sprintf("merge %s %d", w.job, w.times+1)})
	if err != nil {
		return fmt.Errorf("merge job of %s: %w", w.key, err)
	}
	return s.note(ctx, workspace, created.Jobs[0].ID, w.job)
}

// orderOf is what the factory is told of a merge.
func (s *Service) orderOf(w wantedMerge) order {
	o := order{Job: w.key, Title: w.title, By: w.by, Commit: w.commit, Branch: w.branch, Into: w.into, Method: w.method,
		Checks: w.checks}
	if s.public != "" {
		o.URL = s.public + "/jobs/" + url.PathEscape(w.key)
	}
	return o
}

// short is a text of at most n characters.
func short(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return string(r[:n-1]) + "…"
}
