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
	changed, moved, touched := summary(events)
	u.Rules = slices.ContainsFunc(events, func(e eventlog.Event) bool {
		return e.Type == eventlog.ProductSaved || e.Type == eventlog.ProductDeleted
	})
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
		beside, err := r.waitingOn(moved)
		if err != nil {
			return err
		}
		u.Cards = append(u.Cards, missingFrom(u.Cards, beside)...)
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

func missingFrom(list, more []Card) []Card {
	return slices.DeleteFunc(more, func(c Card) bool {
		return slices.ContainsFunc(list, func(k Card) bool { return k.Job.ID == c.Job.ID })
	})
}

// summary gives the jobs that events speak of, those of them whose status
// changed, and the columns that did.
func summary(events []eventlog.Event) (changed, moved []ids.ID, touched []Column) {
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
				if !slices.Contains(moved, *e.JobID) {
					moved = append(moved, *e.JobID)
				}
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
	return changed, moved, touched
}

func columnOfValue(status any) Column {
	text, _ := status.(string)
	return ColumnOf(jobs.Status(text))
}
