package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fleetboard/internal/worker/repos"
)

// mergeOrder is what a job of kind merge says in its input_context under "merge".
type mergeOrder struct {
	Job    string `json:"job"`    // whose work it is
	Title  string `json:"title"`  // of that job
	URL    string `json:"url"`    // of its page; "" where the server does not know it
	By     string `json:"by"`     // byPullRequest, or the worker itself
	Commit string `json:"commit"` // that was approved
	Branch string `json:"branch"` // that it was handed in on
	Into   string `json:"into"`   // "" is the default branch
	Method string `json:"method"` // fast_forward or merge_commit
	Checks string `json:"checks"` // a command that the merged work must pass; "" for none
}

// byPullRequest has the forge merge.
const byPullRequest = "pull_request"

// isMerge reports whether the job is to merge the work of another one.
func (a *attempt) isMerge() bool { return a.job.Kind == "merge" && inputOf(a.job)[mergeKey] != nil }

// merge merges exactly what was approved. What a person must decide ends the job for good,
// with the reason.
func (a *attempt) merge(ctx context.Context) ending {
	var order mergeOrder
	if err := json.Unmarshal(inputOf(a.job)[mergeKey], &order); err != nil {
		return failure("other", "The order to merge cannot be read: "+err.Error(), false)
	}
	a.told.step("merges " + order.Job)
	if order.By == byPullRequest {
		return a.mergeByPullRequest(ctx, order)
	}
	said := ""
	request := a.mergeRequest(order)
	request.Message = fmt.Sprintf("Merge %s\n\nFleetboard-Job: %s", a.job.Title, order.Job)
	if order.Checks != "" {
		request.Check = func(ctx context.Context, dir string) (err error) {
			a.told.step("checks: " + order.Checks)
			said, err = a.check(ctx, order.Checks, dir)
			return err
		}
	}
	commit, err := a.w.Repos.Merge(ctx, request)
	if err != nil {
		return a.stoppedOr(unmerged(err, said))
	}
	return merged(commit, "")
}

// mergeRequest is what an order wants of git.
func (a *attempt) mergeRequest(order mergeOrder) repos.MergeRequest {
	return repos.MergeRequest{Repo: a.job.Repo, Commit: order.Commit, Branch: order.Branch, Into: order.Into,
		FastForward: order.Method == "fast_forward"}
}

// merged is how the attempt ends where the work was merged; url is that of its pull request.
func merged(commit, url string) ending {
	said := map[string]string{"merged_commit": commit}
	if url != "" {
		said["url"] = url
	}
	raw, err := json.Marshal(said)
	if err != nil {
		return failure("other", err.Error(), false)
	}
	end := ending{verb: verbComplete, said: "merged " + commit}
	end.completion.Result, end.completion.Summary = raw, text("Merged as "+commit+".")
	return end
}

// unmerged is how the attempt ends where the work was not merged. said is what a check
// printed.
func unmerged(err error, said string) ending {
	switch {
	case errors.Is(err, repos.ErrConflict), errors.Is(err, repos.ErrInTheWay):
		return failure("merge_conflict", err.Error(), false)
	case errors.Is(err, repos.ErrCheck):
		return failure("checks_failed", err.Error()+"\n\n"+said, false)
	}
	return failure("other", err.Error(), true)
}
