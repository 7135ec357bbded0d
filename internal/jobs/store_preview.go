package jobs

import (
	"context"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// handIn is work that was handed in for a review, handInFacts what is known of it.
type (
	handIn      = dbsqlc.AutoApproveListRow
	handInFacts = dbsqlc.AutoApproveFactsRow
)

// handInsTx returns what was handed in lately in a product, one more than a preview looks at.
func handInsTx(ctx context.Context, tx db.Tx, workspace, product ids.ID) ([]handIn, error) {
	return q.AutoApproveList(ctx, tx, dbsqlc.AutoApproveListParams{WorkspaceID: workspace, ProductID: product,
		Days: PreviewDays, MaxJobs: previewJobs, MaxRows: MaxPreview + 1})
}
