package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
)

// dispatchHandlers answer the calls about how jobs are given out.
type dispatchHandlers struct{ *Deps }

type (
	// DispatchSettings is how jobs are given out.
	DispatchSettings = setting.Settings
	// PutDispatchJSONRequestBody is what is changed of it.
	PutDispatchJSONRequestBody = setting.Change
)

// GetDispatch returns how jobs are given out.
func (s *dispatchHandlers) GetDispatch(ctx context.Context, _ GetDispatchRequestObject) (GetDispatchResponseObject, error) {
	present, err := s.Dispatch.DispatchSettings(ctx, principal(ctx))
	return GetDispatch200JSONResponse(present), err
}

// PutDispatch changes what is named of it.
func (s *dispatchHandlers) PutDispatch(ctx context.Context, r PutDispatchRequestObject) (PutDispatchResponseObject, error) {
	after, err := s.Dispatch.ChangeDispatch(ctx, principal(ctx), *r.Body)
	return PutDispatch200JSONResponse(after), err
}
