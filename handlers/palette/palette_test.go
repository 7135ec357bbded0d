package palette_test

import (
	"net/http"
	"testing"

	"fleetboard/e2e/handlertest"
	"fleetboard/internal/tenancy"
)

func TestPalette(t *testing.T) {
	d := handlertest.NewDesk(t)
	d.Job("Fix the reaper")
	d.Agent("claude-1")
	doc := handlertest.Page(t, d.Get("/palette?q=reap"), http.StatusOK)
	handlertest.WantCount(t, doc, "a[role=option][href='/jobs/FB-1']", 1)
	handlertest.WantText(t, doc, "mark", "reap")
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/palette?q=fb-1"), http.StatusOK), "a[href='/jobs/FB-1']", 1)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/palette?q=factory-of"), http.StatusOK), "a[href='/agents#factory-factory-of-claude-1']", 1)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/palette"), http.StatusOK), "a[href='/jobs/new']", 1)
	handlertest.WantCount(t, handlertest.Page(t, d.As(tenancy.RoleViewer).Get("/palette"), http.StatusOK), "a[href='/jobs/new']", 0)
}
