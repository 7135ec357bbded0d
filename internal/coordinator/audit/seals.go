package audit

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Seals checks the sealed part of a workspace's log, and calls found with each
// thing that is wrong.
type Seals interface {
	Check(ctx context.Context, workspace ids.ID, found func(detail string)) error
}

// SealsCheck is the name of the check of the log against its seals.
const SealsCheck = "log"

// RunWithSeals is Run, and checks the log of each workspace against its seals.
func RunWithSeals(ctx context.Context, d *db.DB, seals Seals) (Report, error) {
	r, err := Run(ctx, d)
	r.Checks = append(r.Checks, Check{Name: SealsCheck, About: "the log has every event that was sealed, unchanged, and ends where it did"})
	if err != nil {
		return r, err
	}
	workspaces, err := allWorkspaces(ctx, d)
	for _, w := range workspaces {
		if err != nil {
			break
		}
		err = seals.Check(ctx, w.ID, func(detail string) { r.note(SealsCheck, w.Slug, "", detail) })
	}
	return r, err
}
