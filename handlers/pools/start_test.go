package pools_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
)

// While a pool starts a factory for a job, no page says that a person has to do something; where none
// is started, all do, and say what to look at.
func TestPagesOfAJobThatAPoolServes(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	handlertest.WantRedirect(t, d.Post("/pools", url.Values{"name": {"any"}, "repos": {"ledger-api"}}), "/pools?pool=any")
	key := d.Job("one").Key
	page := func(path string) *goquery.Document { return handlertest.Page(t, d.Get(path), http.StatusOK) }
	handlertest.WantText(t, page("/board"), "#col-ready", "The pool any can start a factory for it")
	handlertest.WantCount(t, page("/board"), "#board-note *", 0)
	handlertest.WantCount(t, page("/needs-you"), ".need", 0)
	handlertest.WantText(t, page("/jobs/"+key), "#why", key+" waits for a factory to be started")

	dbfactory.Exec(t, d.DB, `INSERT INTO pool_sample (workspace_id, pool_id, at, queued, running, value, factories, starting)
		SELECT workspace_id, id, date_trunc('minute', now()) - n * interval '1 minute', 1, 0, 1, 0, 0 FROM pool, generate_series(0, 8) n`)
	handlertest.WantText(t, page("/pools"), "#pool-demand", "For ten minutes none was started")
	handlertest.WantText(t, page("/needs-you"), ".need", "No factory")
	handlertest.WantText(t, page("/board"), "#board-note", "1 job cannot run")
	doc := page("/jobs/" + key)
	handlertest.WantText(t, doc, "#why", "No live factory can run "+key)
	handlertest.WantText(t, doc, "#why", "for ten minutes none was started")
	handlertest.WantText(t, page("/jobs/new/routability?repo=ledger-api"), "body", "for ten minutes none was started")
}
