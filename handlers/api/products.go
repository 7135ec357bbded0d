package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
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
	return ListProducts200JSONResponse{Items: list(shown), NextCursor: next}, err
}

// GetProduct reads one product.
func (s *productHandlers) GetProduct(ctx context.Context, r GetProductRequestObject) (GetProductResponseObject, error) {
	product, err := s.Jobs.Product(ctx, principal(ctx), r.Product)
	return GetProduct200JSONResponse(product), err
}

// PutProduct makes a product or replaces its settings.
func (s *productHandlers) PutProduct(ctx context.Context, r PutProductRequestObject) (PutProductResponseObject, error) {
	if name := r.Body.Name; name != "" && name != r.Product {
		return nil, fault.Invalid("name", "It is %s here and %s in the address.", name, r.Product)
	}
	product, made, err := s.Jobs.PutProduct(ctx, principal(ctx), r.Product, r.Body.ProductSettings)
	if made {
		return PutProduct201JSONResponse(product), err
	}
	return PutProduct200JSONResponse(product), err
}

// DeleteProduct takes a product without jobs away.
func (s *productHandlers) DeleteProduct(ctx context.Context, r DeleteProductRequestObject) (DeleteProductResponseObject, error) {
	return DeleteProduct204Response{}, s.Jobs.DeleteProduct(ctx, principal(ctx), r.Product)
}

type (
	// Product is what jobs are billed to and shown under.
	Product = jobs.Product
	// ProductPage is a page of products.
	ProductPage = part[Product]
	// PutProductJSONRequestBody is a product with the settings that it is to have.
	PutProductJSONRequestBody = jobs.Product
)

// branchHandlers answer the calls about branches of jobs.
type branchHandlers struct{ *Deps }

// ListEndedBranches lists the branches of jobs that ended long enough ago.
func (s *branchHandlers) ListEndedBranches(
	ctx context.Context, r ListEndedBranchesRequestObject,
) (ListEndedBranchesResponseObject, error) {
	found, err := s.Jobs.EndedBranches(ctx, principal(ctx), r.Body.Repo, r.Body.Jobs)
	return ListEndedBranches200JSONResponse{Items: list(found)}, err
}
