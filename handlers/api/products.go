package api

import (
	"cmp"
	"context"
	"slices"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/jobs/autoapprove"
)

// productHandlers answer the calls about products.
type productHandlers struct{ *Deps }

// ListProducts gives a page of the products, by name.
func (s *productHandlers) ListProducts(ctx context.Context, r ListProductsRequestObject) (ListProductsResponseObject, error) {
	all, err := s.Jobs.Products(ctx, principal(ctx))
	if err != nil {
		return nil, err
	}
	shown, next, err := pageByName(all, r.Params.Cursor, r.Params.Limit, func(p jobs.Product) string { return p.Name })
	items := make([]Product, 0, len(shown))
	for _, p := range shown {
		items = append(items, productModel(p))
	}
	return ListProducts200JSONResponse{Items: items, NextCursor: next}, err
}

// GetProduct reads one product.
func (s *productHandlers) GetProduct(ctx context.Context, r GetProductRequestObject) (GetProductResponseObject, error) {
	product, err := s.Jobs.Product(ctx, principal(ctx), r.Product)
	return GetProduct200JSONResponse(productModel(product)), err
}

// PutProduct makes a product or replaces its settings.
func (s *productHandlers) PutProduct(ctx context.Context, r PutProductRequestObject) (PutProductResponseObject, error) {
	if name := r.Body.Name; name != "" && name != r.Product {
		return nil, fault.Invalid("name", "It is %s here and %s in the address.", name, r.Product)
	}
	settings, err := r.Body.settings()
	if err != nil {
		return nil, err
	}
	product, made, err := s.Jobs.PutProduct(ctx, principal(ctx), r.Product, settings)
	if made {
		return PutProduct201JSONResponse(productModel(product)), err
	}
	return PutProduct200JSONResponse(productModel(product)), err
}

// DeleteProduct takes a product without jobs away.
func (s *productHandlers) DeleteProduct(ctx context.Context, r DeleteProductRequestObject) (DeleteProductResponseObject, error) {
	return DeleteProduct204Response{}, s.Jobs.DeleteProduct(ctx, principal(ctx), r.Product)
}

type (
	// Product is what jobs are billed to and shown under.
	Product struct {
		jobs.Product
		OneJobPerRepo bool `json:"one_job_per_repo"`
	}
	// ProductPage is a page of products.
	ProductPage = part[Product]
	// PutProductJSONRequestBody is a product with the settings that it is to have.
	PutProductJSONRequestBody struct {
		jobs.Product
		OneJobPerRepo *bool `json:"one_job_per_repo"`
	}
)

func productModel(p jobs.Product) Product {
	return Product{Product: p, OneJobPerRepo: p.Serialise == jobs.SerialiseRepo}
}

// settings returns what is asked for, where the former name of serialise may have been used.
func (b PutProductJSONRequestBody) settings() (jobs.ProductSettings, error) {
	in := b.ProductSettings
	switch one := b.OneJobPerRepo; {
	case one == nil:
	case in.Serialise == "" && *one:
		in.Serialise = jobs.SerialiseRepo
	case in.Serialise != "" && *one != (in.Serialise == jobs.SerialiseRepo):
		return in, fault.Invalid("one_job_per_repo", "It contradicts serialise, which takes its place. Leave it out.")
	}
	return in, nil
}

// AutoApprovePreview is what the policy would have decided.
type AutoApprovePreview = jobs.Preview

// PreviewAutoApprove says what the policy would have decided about the work of the last days.
func (s *productHandlers) PreviewAutoApprove(ctx context.Context, r PreviewAutoApproveRequestObject) (
	PreviewAutoApproveResponseObject, error,
) {
	in := r.Params
	p, err := s.Jobs.PreviewAutoApprove(ctx, principal(ctx), r.Product, func(of *autoapprove.Settings) {
		of.MaxLines, of.MaxFiles = cmp.Or(in.MaxLines, of.MaxLines), cmp.Or(in.MaxFiles, of.MaxFiles)
		of.RequireVerdict = cmp.Or(in.RequireVerdict, of.RequireVerdict)
		if in.DenyPaths != nil {
			of.DenyPaths = slices.DeleteFunc(*in.DenyPaths, func(path string) bool { return path == "" })
		}
	})
	return PreviewAutoApprove200JSONResponse(p), err
}

// branchHandlers answer the calls about branches of jobs.
type branchHandlers struct{ *Deps }

// ListEndedBranches lists the branches of jobs that ended long enough ago.
func (s *branchHandlers) ListEndedBranches(
	ctx context.Context, r ListEndedBranchesRequestObject,
) (ListEndedBranchesResponseObject, error) {
	found, err := s.Jobs.EndedBranches(ctx, principal(ctx), r.Body.Repo, r.Body.Jobs)
	return ListEndedBranches200JSONResponse{Items: list(found)}, err
}
