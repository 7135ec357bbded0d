package jobs

import (
	"slices"

	"fleetboard/internal/eventlog"
)

// changes lists the fields that differ, for the event. Replay rebuilds a job's
// state from them, so that whatever State holds is noted here.
func (d Decision) changes() []eventlog.Change {
	b, a := d.Before, d.After
	var list []eventlog.Change
	note := func(field string, differs bool, old, new any) {
		if differs {
			list = append(list, eventlog.Change{Field: field, Old: old, New: new})
		}
	}
	note("status", b.Status != a.Status, b.Status, a.Status)
	note("wait_reason", b.WaitReason != a.WaitReason, b.WaitReason, a.WaitReason)
	note("blocked_reason", b.BlockedReason != a.BlockedReason, b.BlockedReason, a.BlockedReason)
	note("question", b.Question != a.Question, b.Question, a.Question)
	note("answer", b.Answer != a.Answer, b.Answer, a.Answer)
	note("waits_for_children", b.WaitsForChildren != a.WaitsForChildren, b.WaitsForChildren, a.WaitsForChildren)
	note("acceptance_met", !slices.Equal(b.AcceptanceMet, a.AcceptanceMet), b.AcceptanceMet, a.AcceptanceMet)
	note("title", b.Title != a.Title, b.Title, a.Title)
	note("body", b.Body != a.Body, len(b.Body), len(a.Body))
	note("phase", b.Phase != a.Phase, b.Phase, a.Phase)
	note("priority", b.Priority != a.Priority, b.Priority, a.Priority)
	note("factory", b.Factory != a.Factory, b.Factory, a.Factory)
	note("repo", b.Repo != a.Repo, b.Repo, a.Repo)
	note("product", b.Product != a.Product, b.Product, a.Product)
	note("estimated_complexity", b.EstimatedComplexity != a.EstimatedComplexity, b.EstimatedComplexity, a.EstimatedComplexity)
	note("estimated_minutes", !same(b.EstimatedMinutes, a.EstimatedMinutes), b.EstimatedMinutes, a.EstimatedMinutes)
	note("token_budget", !same(b.TokenBudget, a.TokenBudget), b.TokenBudget, a.TokenBudget)
	note("capabilities", !equal(b.Capabilities, a.Capabilities), b.Capabilities, a.Capabilities)
	note("tags", !equal(b.Tags, a.Tags), b.Tags, a.Tags)
	note("acceptance", !equal(b.Acceptance, a.Acceptance), b.Acceptance, a.Acceptance)
	note("review_required", !same(b.ReviewOverride, a.ReviewOverride), b.ReviewOverride, a.ReviewOverride)
	note("files", !equal(b.Files, a.Files), b.Files, a.Files)
	note("files_touched", !equal(b.FilesTouched, a.FilesTouched), b.FilesTouched, a.FilesTouched)
	note("failure_kind", b.FailureKind != a.FailureKind, b.FailureKind, a.FailureKind)
	note("approved_head", b.ApprovedHead != a.ApprovedHead, b.ApprovedHead, a.ApprovedHead)
	note("merged_commit", b.MergedCommit != a.MergedCommit, b.MergedCommit, a.MergedCommit)
	note("url", b.URL != a.URL, b.URL, a.URL)
	note("failure_count", b.FailureCount != a.FailureCount, b.FailureCount, a.FailureCount)
	note("lost_count", b.LostCount != a.LostCount, b.LostCount, a.LostCount)
	note("feedback", b.Feedback != a.Feedback, b.Feedback, a.Feedback)
	note("not_before", !sameTime(b.NotBefore, a.NotBefore), b.NotBefore, a.NotBefore)
	return append(list, d.Beside...)
}

// beginning lists the fields with which a job is made.
func (j Job) beginning() []eventlog.Change {
	list := Decision{After: j}.changes()
	for i := range list {
		list[i].Old = nil
	}
	return list
}
