package merging

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/actions"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// loop is what events name as who decides.
	loop = "merging"
	// atOnce bounds what one cycle does in a workspace.
	atOnce = 50
	// Capability is that of factories that can open a pull request.
	Capability = fleet.OpensPullRequests
	// urgent is the least priority of a merge job: work that is done should not wait behind
	// work that begins.
	urgent = 7
	// maxShort bounds a title within a title, in characters.
	maxShort = 150
	// longestHold and holdForChildren bound how long work is left alone after a refusal, in
	// seconds.
	longestHold     = 120
	holdForChildren = 10
)

// Maker makes jobs of the system.
type Maker interface {
	CreateSystem(ctx context.Context, who tenancy.Principal, in jobs.System) (jobs.Job, error)
	Change(ctx context.Context, who tenancy.Principal, change jobs.ChangeTx) (jobs.Job, error)
}

// Actor decides about jobs.
type Actor interface {
	Act(ctx context.Context, who tenancy.Principal, keyOrID string, a actions.Action) (jobs.Job, error)
}

// Service has approved work merged.
type Service struct {
	db     *db.DB
	jobs   Maker
	actor  Actor
	public string
	log    *slog.Logger
}

// New returns the merging of a database. public is the address that people reach the server
// by, which pull requests name; "" where nobody said.
func New(d *db.DB, list Maker, actor Actor, public string, log *slog.Logger) *Service {
	return &Service{db: d, jobs: list, actor: actor, public: strings.TrimSuffix(public, "/"), log: log}
}

// MergeApproved decides about merges that have ended, ends those that are not wanted any
// more, and begins those that are, in all workspaces. It returns how many of these it did. A
// workspace that fails keeps no other from its turn, and a job that is refused no other job:
// it says why, and is left alone for a while.
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
		if failed != nil {
			did, failed = true, s.hold(ctx, workspace, m.JobID, m.Key, failed)
		}
		if did {
			n++
		}
		err = errors.Join(err, failed)
	}
	wanted, failed := s.wanted(ctx, workspace)
	err = errors.Join(err, failed)
	for _, w := range wanted {
		did, failed := s.begin(ctx, workspace, w)
		if failed != nil {
			did, failed = true, s.hold(ctx, workspace, w.ID, w.Key, failed)
		}
		if did {
			n++
		}
		err = errors.Join(err, failed)
	}
	return n, err
}

// hold leaves work alone for a while, each time longer, and writes on it why its merge cannot
// go on. The error is one that is not this job's alone: even that could not be written.
func (s *Service) hold(ctx context.Context, workspace, job ids.ID, key string, why error) error {
	if ctx.Err() != nil {
		return why
	}
	longest := longestHold
	if fault.Is(why, fault.ChildrenOpen) {
		longest = holdForChildren
	}
	_, err := s.jobs.Change(ctx, tenancy.System(workspace, loop), func(tx db.Tx) (jobs.Job, error) {
		locked, err := jobs.LockTx(ctx, tx, workspace, job.String())
		if err != nil {
			return jobs.Job{}, err
		}
		if err := q.JobMergeHold(ctx, tx, workspace, job, longest); err != nil {
			return jobs.Job{}, err
		}
		d, changed := locked.HoldMerge(short(refusal(why), actions.MaxReason))
		if !changed {
			return locked.Job, nil
		}
		return jobs.SaveTx(ctx, tx, tenancy.System(workspace, loop), d)
	})
	if err != nil && !fault.Is(err, fault.NotFound) {
		return fmt.Errorf("merge of %s: %w", key, errors.Join(why, err))
	}
	if fault.From(why).Code == fault.Internal {
		s.log.WarnContext(ctx, "a merge waits", "job", key, "error", why)
	}
	return nil
}

// refusal returns an error in words for the job's page.
func refusal(err error) string {
	f := fault.From(err)
	if len(f.Fields) == 0 {
		return f.Message
	}
	said := make([]string, 0, len(f.Fields))
	for _, field := range slices.Sorted(maps.Keys(f.Fields)) {
		said = append(said, field+": "+f.Fields[field])
	}
	return strings.Join(said, " ")
}

// isWanted reports whether what it merges is still what is approved.
func (m openMerge) isWanted() bool {
	return jobs.Status(m.Status) == jobs.Approved && m.ApprovedHead == m.Commit
}

// look decides about a merge.
func (s *Service) look(ctx context.Context, workspace ids.ID, m openMerge) (did bool, err error) {
	if jobs.Status(m.MergeStatus).Finished() {
		return s.conclude(ctx, workspace, m)
	}
	return s.act(ctx, workspace, m.MergeKey, actions.Action{Verb: jobs.ByCancel,
		Reason: "What it merges is not approved any more: " + m.Key + "."})
}

// conclude decides about the job and closes the merge.
func (s *Service) conclude(ctx context.Context, workspace ids.ID, m openMerge) (did bool, err error) {
	if m.isWanted() {
		if back, err := s.sendBack(ctx, workspace, m); err != nil || back {
			return back, err
		}
		if decided, err := s.act(ctx, workspace, m.Key, m.decision()); err != nil || !decided {
			return false, err
		}
	}
	return true, s.close(ctx, workspace, m)
}

// decision returns what becomes of the job.
func (m openMerge) decision() actions.Action {
	a := actions.Action{Verb: jobs.ByMergeFail, Version: &m.Version}
	switch ended := jobs.Status(m.MergeStatus); {
	case ended == jobs.Completed && isCommit(m.MergedCommit):
		return actions.Action{Verb: jobs.ByMerge, Version: &m.Version, Commit: m.MergedCommit, URL: address(m.Url)}
	case ended == jobs.Completed:
		a.Reason = "The merge job " + m.MergeKey + " ended without a commit that the work was merged as."
	case m.LastError != "" && ended == jobs.Failed:
		a.Reason = short(m.LastError, actions.MaxReason)
	default:
		a.Reason = "The merge job " + m.MergeKey + " was ended."
	}
	return a
}

// isCommit reports whether a factory named a commit that the job can keep.
func isCommit(name string) bool {
	p := fault.Problems{}
	p.Line("commit", name, jobs.MaxCommit)
	return name != "" && len(p) == 0
}

// address returns what a factory says is the address of a merge, "" where it is none.
func address(url string) string {
	p := fault.Problems{}
	if p.Line("url", url, jobs.MaxURL); len(p) > 0 || !lease.IsWebAddress(url) {
		return ""
	}
	return url
}

// act carries a decision out. It reports false where somebody else has decided or changed
// something meanwhile: the next cycle looks again.
func (s *Service) act(ctx context.Context, workspace ids.ID, key string, a actions.Action) (bool, error) {
	_, err := s.actor.Act(ctx, tenancy.System(workspace, loop), key, a)
	var f *fault.Error
	if errors.As(err, &f) && slices.Contains([]fault.Code{fault.InvalidTransition, fault.VersionConflict, fault.NotFound}, f.Code) {
		return false, nil
	}
	return err == nil, err
}

// errBegun is work that has an open merge, or is not approved as that commit, by now.
var errBegun = errors.New("the work has changed meanwhile")

// begin makes the merge job with what it merges. Work without a commit has nothing to merge
// and is done.
func (s *Service) begin(ctx context.Context, workspace ids.ID, w wantedMerge) (did bool, err error) {
	if w.ApprovedHead == "" {
		return s.act(ctx, workspace, w.Key, actions.Action{Verb: jobs.ByMerge, Version: &w.Version})
	}
	var needs []string
	if w.MergeBy == jobs.MergeByPullRequest {
		needs = []string{Capability}
	}
	priority, review := max(w.Priority, urgent), false
	_, err = s.jobs.CreateSystem(ctx, tenancy.System(workspace, loop), jobs.System{
		New: jobs.New{Spec: jobs.Spec{Title: fmt.Sprintf("Merge %s: %s", w.Key, short(w.Title, maxShort-len(w.Key))), Repo: w.Repo,
			Files: w.Files, Capabilities: needs, ReviewOverride: &review}, Kind: jobs.KindMerge,
			Product: w.Product, Priority: &priority},
		Permit: func(ctx context.Context, tx db.Tx) error { return lockWantedTx(ctx, tx, workspace, w) },
		Record: func(ctx context.Context, tx db.Tx, made jobs.Job) error {
			return recordTx(ctx, tx, workspace, made.ID, w, s.pageURL(w.Key))
		},
	})
	if errors.Is(err, errBegun) {
		return false, nil
	}
	return err == nil, err
}

// pageURL returns the address of a job's page, "" where nobody said where people reach the server.
func (s *Service) pageURL(key string) string {
	if s.public == "" {
		return ""
	}
	return s.public + "/jobs/" + url.PathEscape(key)
}

// short returns a text of at most n characters.
func short(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return string(r[:n-1]) + "…"
}
