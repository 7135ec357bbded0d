package api

import (
	"context"

	"fleetboard/internal/fault"
	"fleetboard/internal/jobs"
)

// GetProduct reads one product.
func (s *Server) GetProduct(ctx context.Context, r GetProductRequestObject) (GetProductResponseObject, error) {
	product, err := s.jobs.Product(ctx, whoOf(ctx), r.Product)
	return GetProduct200JSONResponse(productModel(product)), err
}

// PutProduct makes a product or replaces its settings.
func (s *Server) PutProduct(ctx context.Context, r PutProductRequestObject) (PutProductResponseObject, error) {
	if name := value(r.Body.Name); name != "" && name != r.Product {
		return nil, fault.Invalid("name", "It is %s here and %s in the address.", name, r.Product)
	}
	product, made, err := s.jobs.PutProduct(ctx, whoOf(ctx), r.Product, jobs.ProductSettings{
		Repos: value(r.Body.Repos), ReviewRequired: value(r.Body.ReviewRequired), OneJobPerRepo: value(r.Body.OneJobPerRepo),
		ReviewLimit: r.Body.ReviewLimit, Paused: value(r.Body.Paused)})
	if made {
		return PutProduct201JSONResponse(productModel(product)), err
	}
	return PutProduct200JSONResponse(productModel(product)), err
}

// DeleteProduct takes a product without jobs away.
func (s *Server) DeleteProduct(ctx context.Context, r DeleteProductRequestObject) (DeleteProductResponseObject, error) {
	return DeleteProduct204Response{}, s.jobs.DeleteProduct(ctx, whoOf(ctx), r.Product)
}
