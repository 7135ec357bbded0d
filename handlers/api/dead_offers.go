package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/dispatch/announce"
	"github.com/fleetboard/fleetboard/internal/transport"
)

type (
	// DeadOffer is an offer that nobody took.
	DeadOffer = announce.DeadOffer
	// DeadOfferList is some of them.
	DeadOfferList struct {
		Items []DeadOffer `json:"items"`
	}
	// FactoryCredentials is with what a factory's own program connects to the broker.
	FactoryCredentials = transport.FactoryCredentials
)

// ListDeadOffers lists offers that nobody took.
func (s *dispatchHandlers) ListDeadOffers(ctx context.Context, r ListDeadOffersRequestObject) (ListDeadOffersResponseObject, error) {
	found, err := s.Announce.DeadOffers(ctx, principal(ctx), value(r.Params.Before), limit(r.Params.Limit))
	return ListDeadOffers200JSONResponse{Items: found}, err
}

// GetFactoryCredentials returns with what a factory's own program connects to the broker.
func (s *dispatchHandlers) GetFactoryCredentials(ctx context.Context, _ GetFactoryCredentialsRequestObject) (
	GetFactoryCredentialsResponseObject, error,
) {
	c, err := s.Announce.Credentials(ctx, principal(ctx))
	return GetFactoryCredentials200JSONResponse(c), err
}
