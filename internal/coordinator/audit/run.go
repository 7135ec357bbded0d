package audit

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// runPage is how many jobs Run reads in a statement.
const runPage = 500

// rule is one promise about a job and the rows beside it.
type rule struct {
	name, about string
	// broken says what differs, "" where the promise is kept.
	broken func(j record) string
}

var rules = []rule{
	{"lease", "a job has a lease, of its own epoch, exactly while it is assigned or running", leaseBroken},
	{"ready", "a job stands in the queue, under its own lane, priority and time, exactly while it is ready", readyBroken},
	{"attempt", "one attempt is open, of the lease's epoch, exactly while there is a lease", attemptBroken},
	{"epochs", "attempts have the epochs from 1 to the job's own, without a gap", epochsBroken},
	{"waiting", "a job has a reason to wait exactly while it waits", waitingBroken},
	{"repo_slot", "the place of a repo is held by a job of that repo which is ready, assigned or running", slotBroken},
}

// Run checks, for every job of every workspace, that the rows about it agree, and
// that the counts of jobs and the sums of budgets are right. An error means that it could not look at all
// of them; the report then holds what it saw.
func Run(ctx context.Context, d *db.DB) (Report, error) {
	var r Report
	for _, rule := range rules {
		r.Checks = append(r.Checks, Check{Name: rule.name, About: rule.about})
	}
	r.Checks = append(append(r.Checks, wholes...), budgetChecks...)
	err := r.walk(ctx, d, runPage, func(ctx context.Context, tx db.Tx, w workspace, after ids.ID) (int, ids.ID, error) {
		rows, err := q.AuditJobs(ctx, tx, w.ID, after, runPage)
		last := lastID
		for _, j := range rows {
			for _, rule := range rules {
				r.note(rule.name, w.Slug, j.Key, rule.broken(j))
			}
		}
		if len(rows) == runPage {
			last = rows[runPage-1].ID
		}
		if err == nil {
			err = r.stray(ctx, tx, w, after, last)
		}
		if err == nil && len(rows) < runPage {
			err = r.counts(ctx, tx, w)
		}
		if err == nil && len(rows) < runPage {
			err = r.budgets(ctx, tx, w)
		}
		return len(rows), last, err
	})
	return r, err
}

func leaseBroken(j record) string {
	switch leased := jobs.Status(j.Status).Leased(); {
	case leased && j.LeaseEpoch == nil:
		return fmt.Sprintf("it is %s without a lease", j.Status)
	case !leased && j.LeaseEpoch != nil:
		return fmt.Sprintf("it is %s and has a lease of epoch %d", j.Status, *j.LeaseEpoch)
	case leased && *j.LeaseEpoch != j.Epoch:
		return fmt.Sprintf("its epoch is %d, its lease's %d", j.Epoch, *j.LeaseEpoch)
	}
	return ""
}

func readyBroken(j record) string {
	ready := jobs.Status(j.Status) == jobs.Ready
	switch {
	case ready && j.QueuedLane == nil:
		return "it is ready and not in the queue"
	case !ready && j.QueuedLane != nil:
		return fmt.Sprintf("it is %s and in the queue", j.Status)
	case !ready:
		return ""
	case *j.QueuedLane != j.LaneID:
		return fmt.Sprintf("its lane is %d, in the queue %d", j.LaneID, *j.QueuedLane)
	case *j.QueuedPriority != min(j.Priority+*j.QueuedRaised, jobs.MaxPriority):
		return fmt.Sprintf("its priority is %d, in the queue %d, raised by %d", j.Priority, *j.QueuedPriority, *j.QueuedRaised)
	case j.ReadyAt == nil:
		return "it is ready and does not say since when"
	case !j.ReadyAt.Equal(*j.QueuedAt):
		return fmt.Sprintf("it is ready since %s, in the queue since %s", j.ReadyAt.UTC(), j.QueuedAt.UTC())
	case !bytes.Equal(j.QueuedRank, j.Rank):
		return fmt.Sprintf("its rank is %x, in the queue %x", j.Rank, j.QueuedRank)
	case *j.QueuedRaised == 0 && !j.QueuedPlace.Equal(place(j)):
		return fmt.Sprintf("its place is %s, in the queue %s", place(j).UTC(), j.QueuedPlace.UTC())
	}
	return ""
}

// place returns where a ready job that ageing has not raised stands: where a person has ranked it, or
// since when it is ready, behind that by its delay.
func place(j record) time.Time {
	if j.RankedPlace != nil {
		return *j.RankedPlace
	}
	return j.QueuedAt.Add(time.Duration(*j.QueuedDelay) * time.Minute)
}

func attemptBroken(j record) string {
	switch {
	case j.AttemptsOpen > 1:
		return fmt.Sprintf("%d attempts are open", j.AttemptsOpen)
	case j.AttemptsOpen == 1 && j.LeaseEpoch == nil:
		return fmt.Sprintf("attempt %d is open without a lease", j.AttemptOpenEpoch)
	case j.AttemptsOpen == 0 && j.LeaseEpoch != nil:
		return fmt.Sprintf("the lease of epoch %d has no open attempt", *j.LeaseEpoch)
	case j.AttemptsOpen == 1 && j.AttemptOpenEpoch != *j.LeaseEpoch:
		return fmt.Sprintf("attempt %d is open, the lease's epoch is %d", j.AttemptOpenEpoch, *j.LeaseEpoch)
	}
	return ""
}

func epochsBroken(j record) string {
	// An epoch names one attempt at most, so that the ends and the number show a gap.
	if j.AttemptCount != j.Epoch || j.AttemptHighest != j.Epoch || j.Epoch > 0 && j.AttemptLowest != 1 {
		return fmt.Sprintf("its epoch is %d, its %d attempts have the epochs %d to %d",
			j.Epoch, j.AttemptCount, j.AttemptLowest, j.AttemptHighest)
	}
	return ""
}

func waitingBroken(j record) string {
	switch waits := jobs.Status(j.Status) == jobs.Waiting; {
	case waits && j.WaitReason == "":
		return "it waits for nothing"
	case !waits && j.WaitReason != "":
		return fmt.Sprintf("it is %s and waits for %s", j.Status, j.WaitReason)
	}
	return ""
}

func slotBroken(j record) string {
	switch {
	case j.SlotRepo == nil:
		return ""
	case !slices.Contains([]jobs.Status{jobs.Ready, jobs.Assigned, jobs.Running}, jobs.Status(j.Status)):
		return fmt.Sprintf("it is %s and holds the repo %s", j.Status, *j.SlotRepo)
	case *j.SlotRepo != j.Repo:
		return fmt.Sprintf("its repo is %s, it holds %s", j.Repo, *j.SlotRepo)
	}
	return ""
}
