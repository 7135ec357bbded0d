package api

import (
	"context"
	"net/http"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// admission is what Admit learned of a request.
type admission struct {
	who *tenancy.Principal
	err error // Superseded, or nil
}

type admissionKey struct{}

// Admit says whom the bearer token of a request stands for that is no call of the API and
// makes one: a tool. It counts for the caller's quota. The call is to be made with the
// context of the returned request, and is neither identified nor counted again; whether the
// caller may make it, the call says. Faults: as of a call without permission.
func (s *Server) Admit(w http.ResponseWriter, r *http.Request) (*http.Request, tenancy.Principal, error) {
	who, err := s.bearer(s.echo.NewContext(r, w))
	if who == nil || err != nil && !fault.Is(err, fault.Superseded) {
		return r, tenancy.Principal{}, err
	}
	if err := s.Quota.Call(*who, bearerToken(r)); err != nil {
		return r, tenancy.Principal{}, err
	}
	return r.WithContext(context.WithValue(r.Context(), admissionKey{}, admission{who, err})), *who, nil
}
