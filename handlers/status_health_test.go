package handlers_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers"
)

func TestHealthOfTheCoordinatorForMonitors(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	stranger := &handlertest.Site{Server: d.Server, DB: d.DB, LogText: d.LogText, Cookies: map[string]*http.Cookie{}}
	ask := func(status int) handlers.CoordinatorHealth {
		t.Helper()
		res := stranger.Get("/health/coordinator")
		handlertest.WantStatus(t, res, status)
		if (res.Header.Get("Retry-After") == "") != (status == http.StatusOK) {
			t.Errorf("Retry-After %q with %d", res.Header.Get("Retry-After"), status)
		}
		var health handlers.CoordinatorHealth
		if err := json.Unmarshal(res.Body.Bytes(), &health); err != nil {
			t.Fatal(err)
		}
		return health
	}
	if h := ask(http.StatusServiceUnavailable); h.Active || h.LastCycleAt != nil || h.SecondsSince != nil {
		t.Errorf("before anybody led: %+v", h)
	}
	handlertest.Leads(t, d, "10 seconds", "4 seconds")
	if h := ask(http.StatusOK); !h.Active || h.Term != 3 || h.InstanceID != "mac-1/17/abc" || *h.SecondsSince < 4 || *h.SecondsSince > 30 {
		t.Errorf("while one leads: %+v", h)
	}
	handlertest.Leads(t, d, "10 seconds", "61 seconds")
	ask(http.StatusServiceUnavailable)
	handlertest.Leads(t, d, "0 seconds", "4 seconds")
	if h := ask(http.StatusServiceUnavailable); h.Active || h.Term != 3 {
		t.Errorf("after the lease: %+v", h)
	}
}
