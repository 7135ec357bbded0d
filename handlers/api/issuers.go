package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/accounts/issuers"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// issuerHandlers answer the calls about trusted issuers, and those who come with their tokens.
type issuerHandlers struct{ *Deps }

// EnrolWorkload registers an agent by the token of its platform.
func (s *issuerHandlers) EnrolWorkload(ctx context.Context, r EnrolWorkloadRequestObject) (EnrolWorkloadResponseObject, error) {
	if name := r.Body.Registration.Name; name != nil && *name != r.Body.Agent {
		return nil, fault.Invalid("registration.name", "It names another agent than %s.", r.Body.Agent)
	}
	id, ok := ids.Parse(r.Body.Issuer)
	if !ok {
		return nil, fault.Invalid("issuer", "It must be the id of a trusted issuer.")
	}
	who, err := s.Issuers.Enter(ctx, id, r.Body.Token, r.Body.Agent)
	if err != nil {
		return nil, err
	}
	registered, err := s.Dispatch.Register(ctx, who, registration(r.Body.Agent, r.Body.Registration))
	return EnrolWorkload200JSONResponse{Agent: fleetOf{who}.agent(registered.Agent), Token: registered.Token,
		TokenExpiresAt: registered.TokenExpiresAt.UTC()}, err
}

// ListIssuers returns all trusted issuers.
func (s *issuerHandlers) ListIssuers(ctx context.Context, _ ListIssuersRequestObject) (ListIssuersResponseObject, error) {
	all, err := s.Issuers.List(ctx, principal(ctx))
	return ListIssuers200JSONResponse{Items: mapSlice(all, issuerModel)}, err
}

// GetIssuer reads one.
func (s *issuerHandlers) GetIssuer(ctx context.Context, r GetIssuerRequestObject) (GetIssuerResponseObject, error) {
	i, err := s.Issuers.Get(ctx, principal(ctx), r.Issuer)
	return GetIssuer200JSONResponse(issuerModel(i)), err
}

// PutIssuer trusts one, or replaces its rule.
func (s *issuerHandlers) PutIssuer(ctx context.Context, r PutIssuerRequestObject) (PutIssuerResponseObject, error) {
	i, isNew, err := s.Issuers.Put(ctx, principal(ctx), r.Issuer, issuers.Rule{Issuer: r.Body.URL, Audience: r.Body.Audience,
		Claims: mapSlice(r.Body.Claims, func(c IssuerClaim) issuers.Claim { return issuers.Claim{Name: c.Claim, Value: c.Value} }),
		Scope: tenancy.Scope{Products: value(r.Body.Products), Capabilities: value(r.Body.Capabilities),
			Factory: value(r.Body.Factory)}, Roles: value(r.Body.Roles), MaySubmit: value(r.Body.MaySubmit)})
	if isNew {
		return PutIssuer201JSONResponse(issuerModel(i)), err
	}
	return PutIssuer200JSONResponse(issuerModel(i)), err
}

// DeleteIssuer trusts one no longer.
func (s *issuerHandlers) DeleteIssuer(ctx context.Context, r DeleteIssuerRequestObject) (DeleteIssuerResponseObject, error) {
	return DeleteIssuer204Response{}, s.Issuers.Delete(ctx, principal(ctx), r.Issuer)
}

func issuerModel(i issuers.Issuer) TrustedIssuer {
	m := TrustedIssuer{ID: i.ID, Name: i.Name, URL: i.Issuer, Audience: i.Audience,
		Claims:   mapSlice(i.Claims, func(c issuers.Claim) IssuerClaim { return IssuerClaim{Claim: c.Name, Value: c.Value} }),
		Products: i.Scope.Products, Capabilities: i.Scope.Capabilities, Factory: i.Scope.Factory, Roles: i.Roles,
		MaySubmit: i.MaySubmit, Live: i.Live, CreatedBy: i.CreatedBy, CreatedAt: i.CreatedAt.UTC()}
	if i.LastUsedAt != nil {
		at := i.LastUsedAt.UTC()
		m.LastUsedAt = &at
	}
	return m
}
