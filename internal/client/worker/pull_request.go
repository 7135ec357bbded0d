package worker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/forge"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// canOpen is the capability of workers that can open a pull request, and what their log lines
// about one are by.
const canOpen = "pull_request"

// following is the work on a pull request, from the branch to the merge.
type following struct {
	a     *attempt
	order api.MergeOrder
	git   repos.MergeRequest
	forge forge.Forge
	repo  forge.Repo
	since time.Time // when it was first seen
	shown bool      // the forge has shown it with the approved commit
	step  string    // the last one that was reported
}

// mergeByPullRequest has the forge merge exactly what was approved. What a person must
// decide ends the job for good, with the reason; everything else is waited for.
func (a *attempt) mergeByPullRequest(ctx context.Context, order api.MergeOrder) ending {
	// It may last for days, and whoever goes on with it loses nothing.
	defer context.AfterFunc(a.w.leaving, func() { a.lease.end(whyStopping, "The worker stops.") })()
	f := &following{a: a, order: order, git: a.mergeRequest(order)}
	repo, err := a.w.Repos.Find(ctx, a.job.Repo)
	if err == nil {
		f.forge, f.repo, err = a.w.Forges.Of(repo.URL)
	}
	if err != nil {
		return a.stoppedOr(failure("capability_mismatch", err.Error(), true))
	}
	if n := leftBehind(a.job.Checkpoint).PullRequest; n > 0 {
		if end, over := f.goOn(ctx, n); over {
			return a.stoppedOr(end)
		}
	} else if end, over := f.open(ctx); over {
		return a.stoppedOr(end)
	}
	return a.stoppedOr(f.follow(ctx))
}

// goOn reads the pull request that an attempt before this one opened.
func (f *following) goOn(ctx context.Context, number int) (end ending, over bool) {
	err := f.patiently(ctx, func() error {
		pull, err := f.forge.Get(ctx, f.repo, number)
		if err == nil {
			f.found(pull)
		}
		return err
	})
	if err != nil {
		return unmerged(err, ""), true
	}
	return ending{}, false
}

// open publishes the commit and opens a pull request of it. Work that is merged already
// needs none.
func (f *following) open(ctx context.Context) (end ending, over bool) {
	earlier, err := f.earlier(ctx)
	if err != nil {
		return unmerged(err, ""), true
	}
	at, err := f.a.w.Repos.Publish(ctx, f.git, f.order.Job, earlier)
	if err != nil {
		return unmerged(err, ""), true
	}
	if at.Merged != "" {
		return merged(at.Merged, ""), true
	}
	err = f.patiently(ctx, func() error {
		pull, err := f.forge.Open(ctx, forge.Request{Repo: f.repo, Head: at.Branch, Base: at.Into, Title: f.title(), Body: f.body()})
		if err == nil {
			f.found(pull)
		}
		return err
	})
	if err != nil {
		return unmerged(err, ""), true
	}
	switch earlier.Branch {
	case "":
		f.tell("opened " + f.pull().URL)
	case at.Branch:
		f.tell("goes on with " + f.pull().URL)
	default:
		f.tell(fmt.Sprintf("opened %s, since the branch %s of the one before was moved by somebody else", f.pull().URL, earlier.Branch))
	}
	return ending{}, false
}

// earlier returns the branch of the pull request that an earlier merge of the work opened, if that
// one is still open.
func (f *following) earlier(ctx context.Context) (e repos.Earlier, err error) {
	was := f.order.PullRequest
	if was == nil {
		return repos.Earlier{}, nil
	}
	err = f.patiently(ctx, func() error {
		pull, err := f.forge.Get(ctx, f.repo, was.Number)
		if err == nil && pull.Open && pull.MergedAs == "" && pull.Branch == was.Branch {
			e = repos.Earlier{Branch: was.Branch, Commit: was.Commit}
		}
		return err
	})
	var gone *forge.Refusal
	if errors.As(err, &gone) && gone.Status == http.StatusNotFound {
		return repos.Earlier{}, nil
	}
	return e, err
}

func (f *following) title() string {
	if f.order.Title == "" {
		return f.order.Job
	}
	return f.order.Title
}

// body leads from the pull request to the job.
func (f *following) body() string {
	text := "Fleetboard-Job: " + f.order.Job + "\n"
	if url := said(f.order.URL); url != "" {
		text = url + "\n\n" + text
	}
	return text
}

// found keeps a pull request where the server, and a worker that starts after a crash, find
// it.
func (f *following) found(pull forge.PullRequest) {
	f.since, f.git.Branch = time.Now(), pull.Branch
	f.a.mu.Lock()
	f.a.pull = pull
	f.a.mu.Unlock()
	f.a.job.Checkpoint = f.a.checkpointNow()
	f.a.reporter.checkpoint(f.a.job.Checkpoint)
	if err := f.a.remember(); err != nil {
		f.a.w.Log.Warn("the pull request is not written down: "+err.Error(), "url", pull.URL)
	}
}

func (f *following) pull() forge.PullRequest {
	f.a.mu.Lock()
	defer f.a.mu.Unlock()
	return f.a.pull
}

// follow looks again and again until the pull request has ended, and merges it when it may
// be merged.
func (f *following) follow(ctx context.Context) ending {
	for {
		f.leaveSeat(ctx)
		var end ending
		var over bool
		err := f.patiently(ctx, func() (err error) {
			leave, err := f.a.w.enterLook(ctx)
			if err != nil {
				return err
			}
			defer leave()
			end, over, err = f.look(ctx)
			return err
		})
		switch {
		case err != nil:
			return unmerged(err, "")
		case over:
			return end
		}
		if err := signal.Sleep(ctx, f.a.w.ForgePoll); err != nil {
			return unmerged(err, "")
		}
	}
}

// look does what the pull request, as it is now, needs.
func (f *following) look(ctx context.Context) (end ending, over bool, err error) {
	pull, err := f.forge.Get(ctx, f.repo, f.pull().Number)
	if err != nil {
		return ending{}, false, err
	}
	switch {
	case pull.MergedAs != "" && pull.Head != f.order.Commit:
		text := fmt.Sprintf("%s was merged with %s; what was approved is %s.", pull.URL, pull.Head, f.order.Commit)
		return failure("other", text, false), true, nil
	case pull.MergedAs != "":
		return merged(pull.MergedAs, pull.URL), true, nil
	case !pull.Open:
		return failure("other", pull.URL+" was closed without a merge.", false), true, nil
	case pull.Head != f.order.Commit && !f.shown && time.Since(f.since) < f.a.w.ForgeQuiet:
		return ending{}, false, nil // it has not noticed the push yet
	case pull.Head != f.order.Commit:
		return failure("other", fmt.Sprintf("The branch of %s was moved to %s; what was approved is %s.",
			pull.URL, pull.Head, f.order.Commit), false), true, nil
	}
	f.shown = true
	// A forge that calls it unfit may not have found out yet, and git knows.
	if pull.Unfit || f.git.FastForward {
		if err := f.a.w.Repos.Fits(ctx, f.git); errors.Is(err, repos.ErrConflict) {
			return unmerged(fmt.Errorf("%w; see %s", err, pull.URL), ""), true, nil
		} else if err != nil {
			return ending{}, false, err
		}
	}
	checks, err := f.forge.Checks(ctx, f.repo, f.order.Commit)
	if err != nil {
		return ending{}, false, err
	}
	switch {
	case len(checks.Failed) > 0:
		return failure("checks_failed", fmt.Sprintf("Checks of %s failed: %s.", pull.URL, names(checks.Failed)), false), true, nil
	case len(checks.Pending) > 0:
		f.tell("waits for " + names(checks.Pending) + " of " + pull.URL)
		return ending{}, false, nil
	case !checks.Any && time.Since(f.since) < f.a.w.ForgeQuiet:
		f.tell("waits for checks of " + pull.URL)
		return ending{}, false, nil
	}
	return f.merge(ctx, pull)
}

// merge has the forge merge the pull request, if nothing is wanted first.
func (f *following) merge(ctx context.Context, pull forge.PullRequest) (end ending, over bool, err error) {
	method := forge.MergeCommit
	if f.git.FastForward {
		method = forge.FastForward
	}
	commit, err := f.forge.Merge(ctx, pull, f.order.Commit, method)
	if errors.Is(err, forge.ErrNotYet) {
		f.tell("waits, since " + err.Error() + ": " + pull.URL)
		return ending{}, false, nil
	}
	if err != nil {
		return ending{}, false, err
	}
	return merged(commit, pull.URL), true, nil
}

// tell reports what is done or waited for, once as long as it is the same.
func (f *following) tell(step string) {
	if step == f.step {
		return
	}
	f.step = step
	f.a.reporter.step(step)
	f.a.reporter.log("INFO", canOpen, step)
}

// patiently calls the forge again while it is busy or away, and returns its decision.
func (f *following) patiently(ctx context.Context, call func() error) error {
	for {
		err := call()
		var r *forge.Refusal
		if !errors.As(err, &r) || !r.Again {
			return err
		}
		f.tell("waits, since " + r.Error())
		if err := signal.Sleep(ctx, max(r.After, f.a.w.ForgePoll)); err != nil {
			return err
		}
	}
}

// names returns those of checks, in a sentence.
func names(list []string) string {
	sorted := slices.Compact(slices.Sorted(slices.Values(list)))
	return strings.Join(sorted, ", ")
}
