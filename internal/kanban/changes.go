package kanban

import (
	"context"
	"fmt"
	"slices"

	"fleetboard/db"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/ids"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
)

// changes turns events into what they mean for a board now: however often a job
// changed, its card is read once.
func (s *Service) changes(ctx context.Context, who tenancy.Principal, events []eventlog.Event, withFleet bool) (*Update, error) {
	u := &Update{}
	changed, touched := summary(events)
	if n := len(events); n > 0 {
		u.Cursor = events[n-1].Cursor.String()
	}
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		r, err := newReader(ctx, tx, who.Workspace)
		if err != nil {
			return err
		}
		if u.Cards, err = r.cards(changed); err != nil {
			return fmt.Errorf("changed cards: %w", err)
		}
		for _, c := range touched {
			page, err := r.column(Filter{}, c, "")
			if err != nil {
				return fmt.Errorf("touched column: %w", err)
			}
			u.Touched = append(u.Touched, page)
		}
		if withFleet {
			u.Fleet = &r.snap
		}
		return nil
	})
	u.Gone = slices.DeleteFunc(changed, func(id ids.ID) bool {
		return slices.ContainsFunc(u.Cards, func(c Card) bool { return c.Job.ID == id })
	})
	return u, err
}

// summary gives the jobs that events speak of and the columns that changed.
func summary(events []eventlog.Event) (changed []ids.ID, touched []Column) {
	seen := map[ids.ID]bool{}
	hit := map[Column]bool{}
	for _, e := range events {
		if e.JobID == nil {
			continue
		}
		if !seen[*e.JobID] {
			seen[*e.JobID] = true
			changed = append(changed, *e.JobID)
		}
		for _, c := range e.Changes {
			if c.Field == "status" {
				hit[columnOfValue(c.Old)], hit[columnOfValue(c.New)] = true, true
			}
			if c.Field == "priority" {
				hit[Waiting], hit[Ready] = true, true
			}
		}
	}
	for _, c := range Columns {
		if hit[c] {
			touched = append(touched, c)
		}
	}
	return changed, touched
}

func columnOfValue(status any) Column {
	text, _ := status.(string)
	return ColumnOf(jobs.Status(text))
}
