package api

import (
	"testing"
	"time"

	"fleetboard/internal/fleet"
	"fleetboard/internal/jobs"
	"fleetboard/internal/kanban"
	"fleetboard/internal/tenancy"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 8, 0, 0, 0, time.FixedZone("", 7200))
	ended := []kanban.Ended{{Key: "FB-3", Status: jobs.Failed}, {Key: "FB-4", Status: jobs.Aborted}, {Key: "FB-5", Status: jobs.Archived}}
	mac := []string{"mac-1"}
	for want, r := range map[string]kanban.Reason{
		"It waits for FB-1, FB-2.": {Code: kanban.CodeDependency, Keys: []string{"FB-1", "FB-2"}},
		"It waits for other jobs.": {Code: kanban.CodeDependency},
		"It waits for FB-3, which failed. Retry it, or take the link away.":                                                                                   {Code: kanban.CodeDependencyFailed, Ended: ended[:1]},
		"It waits for FB-3, which failed, and for FB-4, which was cancelled, and for FB-5, which was archived unfinished. Retry them, or take the link away.": {Code: kanban.CodeDependencyFailed, Ended: ended},
		"It is not to start before 2026-05-01T06:00:00Z.":                                                                                                     {Code: kanban.CodeNotBefore, Until: &at},
		"It failed and is tried again after 2026-05-01T06:00:00Z: boom":                                                                                       {Code: kanban.CodeRetryBackoff, Until: &at, Text: "boom"},
		"Its lease was lost together with others; it is ready again after 2026-05-01T06:00:00Z.":                                                              {Code: kanban.CodeRetryBackoff, Until: &at, Text: "boom", Lost: true},
		"Its budget is used up; it goes on once the budget is raised or cleared and somebody resumes it.":                                                     {Code: kanban.CodeBudget},
		"Another job holds its repo.":                                                                         {Code: kanban.CodeRepoBusy},
		"Its repo is held by FB-9, which no agent has claimed yet.":                                           {Code: kanban.CodeRepoBusy, Keys: []string{"FB-9"}},
		"Its repo is held by FB-9, on which claude-1 works.":                                                  {Code: kanban.CodeRepoBusy, Keys: []string{"FB-9"}, By: tenancy.Actor{Name: "claude-1"}},
		"Too many jobs of its product wait for a review.":                                                     {Code: kanban.CodeReviewBacklog},
		"The review queue of billing is full: 5 of 5 jobs in review.":                                         {Code: kanban.CodeReviewBacklog, Product: "billing", Count: 5, Limit: 5},
		"It waited for the review queue of billing, which has room again (4 of 5 jobs in review).":            {Code: kanban.CodeReviewBacklog, Product: "billing", Count: 4, Limit: 5},
		"Its product billing is paused.":                                                                      {Code: kanban.CodeProductPaused, Product: "billing"},
		"It is paused by Ann.":                                                                                {Code: kanban.CodePaused, By: tenancy.Actor{Name: "Ann"}},
		"It is blocked.":                                                                                      {Code: kanban.CodeBlocked},
		"It is blocked by Ann: no contract":                                                                   {Code: kanban.CodeBlocked, By: tenancy.Actor{Name: "Ann"}, Text: "no contract"},
		"claude-1 asks, since 2026-05-01T06:00:00Z: which?":                                                   {Code: kanban.CodeQuestion, By: tenancy.Actor{Name: "claude-1"}, Since: &at, Text: "which?"},
		"No live factory can run it. None has registered yet.":                                                {Code: kanban.CodeNoFactory},
		"No live factory can run it. The nearest is f, which lacks a, b.":                                     {Code: kanban.CodeNoFactory, Nearest: "f", Missing: []string{"a", "b"}, Text: fleet.ReasonMissing},
		"No live factory can run it. f could, and takes no new jobs.":                                         {Code: kanban.CodeNoFactory, Nearest: "f", Text: fleet.ReasonDraining},
		"No live factory can run it. f was not heard of for too long.":                                        {Code: kanban.CodeNoFactory, Nearest: "f", Text: fleet.ReasonDead},
		"No live factory can run it. It is for one factory only, and the nearest is f.":                       {Code: kanban.CodeNoFactory, Nearest: "f", Text: fleet.ReasonOtherFactory},
		"None of the 4 seats that could run it is free, on f, g.":                                             {Code: kanban.CodeSeatsTaken, Seats: 4, Factories: []string{"f", "g"}},
		"None of the 4 seats that could run it is free, on mac-1: FB-1, FB-2 and 2 more sit on them.":         {Code: kanban.CodeSeatsTaken, Seats: 4, Factories: mac, Keys: []string{"FB-1", "FB-2"}, More: 2},
		"1 of 2 seats are free, on mac-1, but no agent there can take one more job: FB-1 sits on them.":       {Code: kanban.CodeAgentsBusy, Seats: 2, Free: 1, Factories: mac, Keys: []string{"FB-1"}},
		"It can start: 1 of 4 seats are free, on f.":                                                          {Code: kanban.CodeCanStart, Seats: 4, Free: 1, Factories: []string{"f"}},
		"claude-1 has claimed it on mac-1 and not started yet.":                                               {Code: kanban.CodeClaimed, By: tenancy.Actor{Name: "claude-1"}, Factories: mac},
		"claude-1 works on it on mac-1.":                                                                      {Code: kanban.CodeRunning, By: tenancy.Actor{Name: "claude-1"}, Factories: mac},
		"Its work was handed in and waits for a review since 2026-05-01T06:00:00Z.":                           {Code: kanban.CodeInReview, Since: &at},
		"Its work was approved by Ann and waits to be merged.":                                                {Code: kanban.CodeApproved, By: tenancy.Actor{Name: "Ann"}},
		"It is done since 2026-05-01T06:00:00Z.":                                                              {Code: kanban.CodeCompleted, Since: &at},
		"It has failed and is not tried again unless somebody retries it: boom":                               {Code: kanban.CodeFailed, Text: "boom"},
		"It waited for itself and has failed. Take one of the links away, then retry it: FB-1 waits for FB-2": {Code: kanban.CodeDependencyCycle, Text: "FB-1 waits for FB-2"},
		"It was cancelled by Ann: not needed":                                                                 {Code: kanban.CodeAborted, By: tenancy.Actor{Name: "Ann"}, Text: "not needed"},
		"It was archived by Ann.":                                                                             {Code: kanban.CodeArchived, By: tenancy.Actor{Name: "Ann"}},
	} {
		if got := sentence(r); got != want {
			t.Errorf("%s: %q, want %q", r.Code, got, want)
		}
	}
}
