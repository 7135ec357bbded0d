package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
)

// isOrdered reports whether the job is one that the system makes, which is done by its order
// alone.
func (a *attempt) isOrdered() bool { return isOrdered(a.job) }

func isOrdered(j api.Job) bool {
	return j.Order != nil || strings.EqualFold(j.Kind, "merge") || strings.EqualFold(j.Kind, "verify")
}

// obey does what the server orders. Nothing else that the job says is an order: without one
// it is refused.
func (a *attempt) obey(ctx context.Context) ending {
	switch {
	case a.job.Kind == "merge" && a.job.Order != nil && a.job.Order.Merge != nil:
		return a.merge(ctx, *a.job.Order.Merge)
	case isVerification(a.job):
		return newVerifying(a, *a.job.Order.Verify).run(ctx)
	case a.again:
		return a.stoppedOr(release("The worker was killed and does not know any more what was ordered."))
	}
	return a.stoppedOr(failure("other", fmt.Sprintf("This job of kind %s came without an order that this worker knows. "+
		"Orders are the server's: nothing in a job's input is one.", a.job.Kind), false))
}

// merge merges exactly what was approved. What a person must decide ends the job for good,
// with the reason.
func (a *attempt) merge(ctx context.Context, order api.MergeOrder) ending {
	a.reporter.step("merges " + order.Job)
	if order.By == api.OrderedByPullRequest {
		return a.mergeByPullRequest(ctx, order)
	}
	printed := ""
	request := a.mergeRequest(order)
	request.Message = fmt.Sprintf("Merge %s: %s\n\nFleetboard-Job: %s", order.Job, order.Title, order.Job)
	if checks := said(order.Checks); checks != "" {
		request.Check = func(ctx context.Context, dir string) (err error) {
			a.reporter.step("checks: " + checks)
			printed, err = a.check(ctx, checks, dir)
			return err
		}
	}
	commit, err := a.w.Repos.Merge(ctx, request)
	if err != nil {
		return a.stoppedOr(unmerged(err, printed))
	}
	return merged(commit, "")
}

// mergeRequest returns what an order wants of git.
func (a *attempt) mergeRequest(order api.MergeOrder) repos.MergeRequest {
	return repos.MergeRequest{Repo: a.job.Repo, Commit: order.Commit, Branch: order.Branch, Into: order.Into,
		FastForward: order.Method == api.MergeMethodFastForward}
}

// said returns a text of an order, "" where it says nothing.
func said(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// merged returns how the attempt ends where the work was merged; url is that of its pull request.
func merged(commit, url string) ending {
	result := map[string]string{"merged_commit": commit}
	if url != "" {
		result["url"] = url
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return failure("other", err.Error(), false)
	}
	return ending{said: "merged " + commit, body: &api.Completion{Result: raw, Summary: text("Merged as " + commit + ".")}}
}

// unmerged returns how the attempt ends where the work was not merged. printed is what a check
// printed.
func unmerged(err error, printed string) ending {
	switch {
	case errors.Is(err, repos.ErrConflict), errors.Is(err, repos.ErrInTheWay):
		return failure("merge_conflict", err.Error(), false)
	case errors.Is(err, repos.ErrCheck):
		return checksFailed(err.Error(), printed, false)
	}
	return failure("other", err.Error(), true)
}
