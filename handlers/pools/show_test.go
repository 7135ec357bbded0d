package pools_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// A pool is made, shows its demand and its history with a table, is changed and removed.
func TestPools(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/pools"), http.StatusOK)
	handlertest.WantText(t, doc, "#pools", "No pool is there")
	doc = handlertest.Page(t, d.Get("/pools/form"), http.StatusOK)
	handlertest.WantCount(t, doc, "#pool-form input[name=max][value='1']", 1)

	typed := url.Values{"name": {"gpu"}, "capabilities": {"has:gpu, has:git"}, "seats": {"1"}, "max": {"2"}, "min": {"3"}}
	doc = handlertest.Page(t, d.Post("/pools", typed), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#pool-form", "It must be 0 to 2")
	handlertest.WantCount(t, doc, "#pool-form input[name=capabilities][value='has:gpu, has:git']", 1)
	typed.Set("min", "")
	handlertest.WantRedirect(t, d.Post("/pools", typed), "/pools?pool=gpu")
	doc = handlertest.Page(t, d.Post("/pools", typed), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#name-e", "There is a pool gpu already")
	typed.Set("fixed", "1")
	handlertest.WantRedirect(t, d.Post("/pools", typed), "/pools?pool=gpu")
	d.Job("one")
	doc = handlertest.Page(t, d.Get("/pools?pool=gpu"), http.StatusOK)
	handlertest.WantText(t, doc, "#pool-gpu", "0 of at most 2 factories, 1 job queued")
	handlertest.WantText(t, doc, "#pool-demand", "1 factory is wanted for 1 job queued and 0 running: 0 there, 0 starting.")
	handlertest.WantText(t, doc, "#members", "None is there now")
	handlertest.WantText(t, doc, "#pool-charts", "Nothing is recorded yet")

	dbfactory.Exec(t, d.DB, `INSERT INTO pool_sample (workspace_id, pool_id, at, queued, running, value, factories, starting)
		SELECT workspace_id, id, now() - interval '6 minutes', 2, 1, 2, 1, 1 FROM pool`)
	dbfactory.Exec(t, d.DB, `INSERT INTO pool_start (workspace_id, id, pool_id, factory, started_at, registered_at, ended_at, failed, detail)
		SELECT workspace_id, gen_random_uuid(), id, 'gpu-1', now() - interval '1 minute', now() - interval '52 seconds', now(), true,
			'signal <killed>' FROM pool`)
	doc = handlertest.Page(t, d.Get("/pools?pool=nothing"), http.StatusOK)
	for _, chart := range []string{"#pool-jobs", "#pool-factories"} {
		handlertest.WantCount(t, doc, chart+" details tbody tr", 24)
		handlertest.WantCount(t, doc, chart+" .ub-p[role=img] .ub-gap", 23)
	}
	handlertest.WantText(t, doc, "#starts", "8.0 s")
	handlertest.WantText(t, doc, "#starts", "signal <killed>")
	handlertest.WantText(t, doc, "#pool", "about 8 s")

	doc = handlertest.Page(t, d.Get("/jobs/new/routability?capabilities=has:gpu"), http.StatusOK)
	handlertest.WantText(t, doc, "body", "Can be started by the pool gpu: about 8 s.")

	doc = handlertest.Page(t, d.Get("/pools/form?pool=gpu"), http.StatusOK)
	handlertest.WantCount(t, doc, "#pool-form input[type=hidden][name=name][value=gpu]", 1)
	handlertest.Page(t, d.Get("/pools/form?pool=tpu"), http.StatusNotFound)
	handlertest.Read(t, d.As(tenancy.RoleMember).Post("/pools", typed), http.StatusForbidden)
	handlertest.Read(t, d.As(tenancy.RoleMember).Post("/pools/remove", url.Values{"name": {"gpu"}}), http.StatusForbidden)
	doc = handlertest.Page(t, d.As(tenancy.RoleViewer).Get("/pools"), http.StatusOK)
	handlertest.WantCount(t, doc, "a[href^='/pools/form']", 0)
	handlertest.WantRedirect(t, d.Post("/pools/remove", url.Values{"name": {"gpu"}}), "/pools")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/pools"), http.StatusOK), "#toasts", "gpu was removed")
}
