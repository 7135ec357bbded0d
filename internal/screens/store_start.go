package screens

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func readStartTx(ctx context.Context, tx db.Tx, workspace ids.ID, offers []fleet.Offer, query StartQuery, start *Start) error {
	in := dbsqlc.BoardStartParams{WorkspaceID: workspace, Product: query.Product, Repo: query.Needs.Repo,
		DefaultProduct: jobs.DefaultProduct,
		Priority:       query.Priority, JobID: query.Job, MaxRows: maxAhead + 1,
		Offers: []int{}, Factories: []string{}, Tokens: []string{}}
	for n, o := range offers {
		for _, token := range append([]string{""}, o.Tokens...) {
			in.Offers, in.Factories, in.Tokens = append(in.Offers, n), append(in.Factories, o.Factory), append(in.Tokens, token)
		}
	}
	row, err := q.BoardStart(ctx, tx, in)
	if err != nil {
		return err
	}
	if row.Paused {
		start.Reasons = append(start.Reasons, Reason{Code: CodeProductPaused, Product: row.Product})
	}
	if limit := row.ReviewLimit; limit > 0 && row.InReview >= limit {
		start.Reasons = append(start.Reasons, Reason{Code: CodeReviewBacklog, Product: row.Product, Count: row.InReview, Limit: limit})
	}
	if row.Holder != "" {
		start.Reasons = append(start.Reasons, Reason{Code: CodeRepoBusy, Keys: []string{row.Holder},
			By: tenancy.Actor{Kind: tenancy.KindAgent, Name: row.Agent}})
	}
	start.Ahead, start.More = min(row.Ahead, maxAhead), row.Ahead > maxAhead
	return nil
}
