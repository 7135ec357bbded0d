package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/autoapprove"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

func productsTx(ctx context.Context, tx db.Tx, workspace ids.ID) ([]Product, error) {
	rows, err := q.ProductList(ctx, tx, workspace)
	if err != nil {
		return nil, err
	}
	list := make([]Product, 0, len(rows))
	for _, r := range rows {
		models, err := ParseModels(r.Models)
		if err != nil {
			return nil, fmt.Errorf("models of product %s: %w", r.ID, err)
		}
		list = append(list, Product{ID: r.ID, Name: r.Name, ProductSettings: ProductSettings{Repos: r.Repos, Models: models,
			ReviewRequired: r.ReviewRequired, Serialise: Serialise(r.Serialise), ReviewLimit: r.ReviewLimit, Paused: r.Paused,
			Merge:           Merge{By: r.MergeBy, Method: r.MergeMethod, Into: r.MergeInto, Checks: r.MergeChecks},
			ProofCommand:    r.ProofCommand,
			BranchRetention: &r.BranchRetentionDays,
			Verify: Verify{Mode: r.VerifyMode, Capabilities: r.VerifyCapabilities, Rounds: &r.VerifyRounds,
				Distinct: distinct.Rule(r.VerifyDistinct)},
			AutoApprove: autoapprove.Settings{Enabled: r.AutoApprove, MaxLines: &r.AutoMaxLines, MaxFiles: &r.AutoMaxFiles,
				DenyPaths: r.AutoDenyPaths, RequireVerdict: &r.AutoRequireVerdict}.OrDefault()}})
	}
	return list, nil
}

// ParseModels reads the models of a product as they are stored; an empty text is none.
func ParseModels(stored json.RawMessage) (tiermodel.Table, error) {
	table := tiermodel.Table{}
	if len(stored) == 0 || string(stored) == "{}" {
		return table, nil
	}
	err := json.Unmarshal(stored, &table)
	return table, err
}

// lockProductsTx keeps the products of a workspace as they are until the transaction ends.
func lockProductsTx(ctx context.Context, tx db.Tx, workspace ids.ID) error {
	return q.NamedLock(ctx, tx, "products:"+workspace.String())
}

// ownersOfRepoTx gives the product that owns a repo, if any.
func ownersOfRepoTx(ctx context.Context, tx db.Tx, workspace ids.ID, repo string) ([]Product, error) {
	rows, err := q.ProductOfRepo(ctx, tx, workspace, repo)
	if err != nil {
		return nil, err
	}
	list := make([]Product, 0, len(rows))
	for _, r := range rows {
		list = append(list, Product{ID: r.ID, Name: r.Name})
	}
	return list, nil
}

// lockLanesOfProductTx gives the lanes of a product for which no job can be made any more
// until the transaction ends: a new job locks its product's row.
func lockLanesOfProductTx(ctx context.Context, tx db.Tx, workspace, product ids.ID) ([]int64, error) {
	if _, err := q.ProductLock(ctx, tx, workspace, product); err != nil {
		return nil, err
	}
	return q.LaneOfProduct(ctx, tx, workspace, product)
}

// writeProductTx inserts a product or replaces its settings and repos.
func writeProductTx(ctx context.Context, tx db.Tx, workspace ids.ID, p Product) error {
	verify, auto := p.Verify.orDefault(), p.AutoApprove.OrDefault()
	models, err := json.Marshal(p.Models.Clone())
	if err != nil {
		return fmt.Errorf("encode models: %w", err)
	}
	err = q.ProductSave(ctx, tx, dbsqlc.ProductSaveParams{WorkspaceID: workspace, ID: p.ID, Name: p.Name,
		ReviewRequired: p.ReviewRequired, Serialise: string(p.Serialise), ReviewLimit: p.ReviewLimit, Paused: p.Paused,
		MergeBy: p.By, MergeMethod: p.Method, MergeInto: p.Into, MergeChecks: p.Checks, ProofCommand: p.ProofCommand,
		BranchRetentionDays: p.Retention(), Models: models,
		VerifyMode: verify.Mode, VerifyCapabilities: verify.Capabilities, VerifyRounds: *verify.Rounds,
		VerifyDistinct: string(verify.Distinct), AutoApprove: auto.Enabled, AutoMaxLines: *auto.MaxLines, AutoMaxFiles: *auto.MaxFiles,
		AutoDenyPaths: auto.DenyPaths, AutoRequireVerdict: *auto.RequireVerdict})
	if err != nil {
		return err
	}
	return q.ProductReposSave(ctx, tx, workspace, p.Repos, p.ID)
}

// ProductByIDTx reads a product. NotFound.
func ProductByIDTx(ctx context.Context, tx db.Tx, workspace, product ids.ID) (Product, error) {
	list, err := productsTx(ctx, tx, workspace)
	if err != nil {
		return Product{}, err
	}
	at := slices.IndexFunc(list, func(p Product) bool { return p.ID == product })
	if at < 0 {
		return Product{}, fault.New(fault.NotFound, "The product is gone.")
	}
	return list[at], nil
}

// VerifyPolicyTx reads whether and how the work of a product is verified. NotFound.
func VerifyPolicyTx(ctx context.Context, tx db.Tx, workspace, product ids.ID) (Verify, error) {
	p, err := ProductByIDTx(ctx, tx, workspace, product)
	return p.Verify, err
}
