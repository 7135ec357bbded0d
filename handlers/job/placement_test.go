package job_test

import (
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/setting"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// The page says why the factory of the last attempt got the job: in pull mode from the attempt, else
// from the comparison.
func TestJobPageSaysWhyItsFactory(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	admin, shadow := d.As(tenancy.RoleAdmin), setting.Shadow
	agent := d.Agent("claude-1")
	j := d.Job("first")
	doc := handlertest.Page(t, admin.Get("/jobs/"+j.Key), http.StatusOK)
	handlertest.WantCount(t, doc, "#placement", 0)
	dbfactory.Exec(t, d.DB, `INSERT INTO dead_offer (workspace_id, job_id, job_version, factory_id, factory, deliveries, expires_at)
		SELECT j.workspace_id, j.id, j.version, f.id, f.name, 5, now() FROM job j, factory f`)
	doc = handlertest.Page(t, admin.Get("/jobs/"+j.Key), http.StatusOK)
	handlertest.WantText(t, doc, "#placement", "was offered this job, told so 5 times, and did not take it:")
	d.Claim(agent)
	doc = handlertest.Page(t, admin.Get("/jobs/"+j.Key), http.StatusOK)
	handlertest.WantText(t, doc, "#placement", "got it: its agent claude-1 asked first.")
	handlertest.WantCount(t, doc, "#placement table", 0)

	d.Agent("claude-2", func(r *fleet.Registration) { r.Factory.Name, r.Factory.Repos = "bare", nil })
	if _, err := d.Dispatch.ChangeDispatch(t.Context(), d.Owner, setting.Change{Mode: &shadow}); err != nil {
		t.Fatal(err)
	}
	j = d.Job("second")
	d.Claim(agent)
	doc = handlertest.Page(t, admin.Get("/jobs/"+j.Key), http.StatusOK)
	handlertest.WantText(t, doc, "#placement", "bare suits it better than")
	handlertest.WantCount(t, doc, "#placement tbody tr", 2)
	handlertest.WantText(t, doc, "#placement tbody tr:nth-child(2)", "got it")
	handlertest.WantText(t, doc, "#place-1", "load 1.00")

	doc = handlertest.Page(t, admin.Get("/settings/dispatch/divergence"), http.StatusOK)
	handlertest.WantText(t, doc, "#class-real td", "1")
	handlertest.WantText(t, doc, "#examples", j.Key)
}
