package settings_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestChangeDispatch(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Product("ledger/web", jobs.ProductSettings{})
	admin := d.As(tenancy.RoleAdmin)
	doc := handlertest.Page(t, admin.Get("/settings/dispatch"), http.StatusOK)
	handlertest.WantCount(t, doc, "#dispatch-form input[type=number][value='1'][min='1'][max='100']", 2)
	in := url.Values{"ageing_minutes": {"60"}, "short_jobs_first": {"1"}, "weight-default": {""}, "weight-ledger%2Fweb": {" 3 "}}
	handlertest.WantRedirect(t, admin.Post("/settings/dispatch", in), "/settings/dispatch")
	doc = handlertest.Page(t, admin.Get("/settings/dispatch"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "Dispatch was saved")
	handlertest.WantCount(t, doc, "#dispatch-form input[name='weight-ledger%2Fweb'][value='3']", 1)
	handlertest.WantCount(t, doc, "#ageing_minutes[value='60']", 1)
	handlertest.WantCount(t, doc, "#short_jobs_first[checked]", 1)
	if n := dbfactory.Int(t, d.DB, `SELECT count(*) FROM event WHERE type = 'dispatch.changed' AND actor_kind = 'person'`); n != 1 {
		t.Errorf("%d events", n)
	}

	in.Set("weight-default", "101")
	in.Set("ageing_minutes", "10081")
	in.Set("preempt_gap", "11")
	doc = handlertest.Page(t, admin.Post("/settings/dispatch", in), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#weight-default-e", "A whole number from 1 to 100.")
	handlertest.WantCount(t, doc, "#weight-default[value='101']", 1)
	handlertest.WantText(t, doc, "#ageing_minutes-e", "A whole number from 0 to 10080.")
	handlertest.WantText(t, doc, "#preempt_gap-e", "A whole number from 0 to 10.")
	handlertest.WantText(t, handlertest.Page(t, admin.Get("/settings/audit?group=fleet"), http.StatusOK), "main", "product weights.ledger/web")

	handlertest.WantRedirect(t, admin.Post("/settings/dispatch", url.Values{"preempt_gap": {"4"}}), "/settings/dispatch")
	handlertest.WantCount(t, handlertest.Page(t, admin.Get("/settings/dispatch"), http.StatusOK), "#preempt_gap[value='4']", 1)

	member := d.As(tenancy.RoleMember)
	handlertest.WantStatus(t, member.Get("/settings/dispatch"), http.StatusForbidden)
	handlertest.WantStatus(t, member.Post("/settings/dispatch", in), http.StatusForbidden)
	handlertest.WantCount(t, handlertest.Page(t, member.Get("/settings/members"), http.StatusOK), ".settings-nav a[href='/settings/dispatch']", 0)
}
