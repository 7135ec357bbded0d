package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/handlers/edge"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// A call under a name that the server does not have is refused as every other
// refusal is written.
func TestACallUnderAnotherNameIsRefused(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	server, ok := w.handler.(*api.Server)
	if !ok {
		t.Fatal("the handler is not the API's")
	}
	call := httptest.NewRequest(http.MethodGet, api.BasePath+"/jobs", nil)
	call.Host = "rebound.example"
	rec := httptest.NewRecorder()
	edge.AllowedHosts(nil, server.Refuse, server).ServeHTTP(rec, call)
	a := answer{t: t, status: rec.Code, header: rec.Header()}
	var err error
	if a.raw, err = io.ReadAll(rec.Body); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(a.raw, &a.body); err != nil {
		t.Fatal(err)
	}
	a.want(http.StatusMisdirectedRequest).refused(fault.HostNotAllowed)
	described.mu.Lock()
	described.codes[fault.HostNotAllowed] = true
	described.mu.Unlock()
}
