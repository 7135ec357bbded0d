package api

import (
	"testing"
	"time"

	"fleetboard/internal/fleet"
	"fleetboard/internal/kanban"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 5, 1, 8, 0, 0, 0, time.FixedZone("", 7200))
	for want, r := range map[string]kanban.Reason{
		"It waits for FB-1, FB-2.":                                                      {Code: kanban.CodeDependency, Keys: []string{"FB-1", "FB-2"}},
		"It is not to start before 2026-05-01T06:00:00Z.":                               {Code: kanban.CodeNotBefore, Until: &until},
		"It failed and is tried again after 2026-05-01T06:00:00Z: boom":                 {Code: kanban.CodeRetryBackoff, Until: &until, Text: "boom"},
		"Its budget does not allow it to start.":                                        {Code: kanban.CodeBudget},
		"Another job works on its repo.":                                                {Code: kanban.CodeRepoBusy},
		"Too many jobs of its product wait for a review.":                               {Code: kanban.CodeReviewBacklog},
		"It is paused: Ann":                                                             {Code: kanban.CodePaused, Text: "Ann"},
		"It is blocked.":                                                                {Code: kanban.CodeBlocked},
		"The agent asks: which?":                                                        {Code: kanban.CodeQuestion, Text: "which?"},
		"No live factory can run it. None has registered yet.":                          {Code: kanban.CodeNoFactory},
		"No live factory can run it. The nearest is f, which lacks a, b.":               {Code: kanban.CodeNoFactory, Nearest: "f", Missing: []string{"a", "b"}, Text: fleet.ReasonMissing},
		"No live factory can run it. f could, and takes no new jobs.":                   {Code: kanban.CodeNoFactory, Nearest: "f", Text: fleet.ReasonDraining},
		"No live factory can run it. f was not heard of for too long.":                  {Code: kanban.CodeNoFactory, Nearest: "f", Text: fleet.ReasonDead},
		"No live factory can run it. It is for one factory only, and the nearest is f.": {Code: kanban.CodeNoFactory, Nearest: "f", Text: fleet.ReasonOtherFactory},
		"None of the 4 seats that could run it is free, on f, g.":                       {Code: kanban.CodeSeatsTaken, Seats: 4, Factories: []string{"f", "g"}},
		"It can start: 1 of 4 seats are free, on f.":                                    {Code: kanban.CodeCanStart, Seats: 4, Free: 1, Factories: []string{"f"}},
		"Its work was handed in and waits for a review.":                                {Code: kanban.CodeInReview},
		"Its work was approved and waits to be merged.":                                 {Code: kanban.CodeApproved},
	} {
		if got := sentence(r); got != want {
			t.Errorf("%s: %q, want %q", r.Code, got, want)
		}
	}
}
