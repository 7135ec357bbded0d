package settings_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

func limit(n int) *int { return &n }

func TestProductsSayWhatTheyAllow(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	doc := handlertest.Page(t, d.Get("/settings/products"), http.StatusOK)
	handlertest.WantText(t, doc, ".empty", "A product groups repos, shows their jobs together")
	handlertest.WantText(t, doc, "tr[data-product=default]", "default Repos NoneReview Not neededJobs per repo Any numberReview limit None")
	handlertest.WantCount(t, doc, "tr[data-product=default] a[href='/board?product=default']", 1)

	d.Product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api", "ledger-web"}, ReviewRequired: true, Serialise: jobs.SerialiseRepo, ReviewLimit: limit(2), Paused: true})
	d.Product("team/shop", jobs.ProductSettings{})
	doc = handlertest.Page(t, d.Get("/settings/products"), http.StatusOK)
	handlertest.WantCount(t, doc, ".empty", 0)
	handlertest.WantText(t, doc, "tr[data-product=ledger]", "ledger PausedRepos ledger-api ledger-web Review A person approvesJobs per repo One at a timeReview limit 0 of 2 in review")
	handlertest.WantText(t, doc, "#main dl", "Which of them may be ready or in work at once")
	handlertest.WantCount(t, doc, "a[href='/settings/products/team%2Fshop']", 1)
	handlertest.Page(t, d.Get("/settings/products/team%2Fshop"), http.StatusOK)
	handlertest.WantCount(t, doc, ".settings-nav a[href='/settings/products'][aria-current=page]", 1)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/board"), http.StatusOK), ".side .nav a[href='/settings']", 1)
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/palette?q=prod"), http.StatusOK), "a[href='/settings/products']", 1)
}

// The limit of a review queue is shown beside what waits in it now.
func TestProductsSayHowMuchWaitsForReview(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api"}, ReviewRequired: true, ReviewLimit: limit(2)})
	agent := d.Agent("claude-1")
	for _, text := range []string{"1 of 2 in review", "2 in review, limit 2"} {
		d.Job("Alpha", func(n *jobs.New) { n.Repo = "ledger-api" })
		j := d.Claim(agent)
		if _, err := d.OtherProcess.Complete(t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, report.Completion{}); err != nil {
			t.Fatal(err)
		}
		handlertest.WantText(t, handlertest.Page(t, d.Get("/settings/products"), http.StatusOK), "tr[data-product=ledger]", text)
	}
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/settings/products"), http.StatusOK), "tr[data-product=ledger] .warn", 1)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/settings/products/ledger"), http.StatusOK), "#review_limit-h", "In review now: 2.")
}

// Who may not change products sees the settings, no button, and no form.
func TestProductsForThoseWhoOnlyLook(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api"}})
	for _, role := range []tenancy.Role{tenancy.RoleViewer, tenancy.RoleMember} {
		other := d.As(role)
		doc := handlertest.Page(t, other.Get("/settings/products"), http.StatusOK)
		handlertest.WantText(t, doc, "tr[data-product=ledger]", "ledger-api")
		handlertest.WantCount(t, doc, "#main button, #main form, #main a.btn, #products a[href^='/settings']", 0)
		for _, address := range []string{"/settings/products/new", "/settings/products/ledger"} {
			handlertest.Read(t, other.Get(address), http.StatusForbidden)
		}
		for _, address := range []string{"", "/ledger", "/ledger/pause", "/ledger/resume", "/ledger/delete"} {
			handlertest.Read(t, other.Post("/settings/products"+address, productFields("ledger")), http.StatusForbidden)
		}
	}
	if p := d.Settings("ledger"); p.Paused || len(p.Repos) != 1 {
		t.Errorf("they changed it: %+v", p)
	}
	doc := handlertest.Page(t, d.As(tenancy.RoleAdmin).Get("/settings/products"), http.StatusOK)
	handlertest.WantCount(t, doc, "#main form[action='/settings/products/ledger/pause'] button", 1)
}

func TestProductsOfAnotherWorkspaceAreNotThere(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	stranger := dbfactory.Person(dbfactory.Workspace(t, d.DB), tenancy.RoleOwner)
	if _, _, err := d.Jobs.PutProduct(t.Context(), stranger, "covert", jobs.ProductSettings{Repos: []string{"covert-api"}}); err != nil {
		t.Fatal(err)
	}
	if body := handlertest.Read(t, d.Get("/settings/products"), http.StatusOK); strings.Contains(body, "covert") {
		t.Error("the list names it")
	}
	handlertest.Read(t, d.Get("/settings/products/covert"), http.StatusNotFound)
	for _, address := range []string{"/covert", "/covert/pause", "/covert/resume", "/covert/delete"} {
		handlertest.Read(t, d.Post("/settings/products"+address, productFields("covert")), http.StatusNotFound)
	}
	if p, err := d.Jobs.Product(t.Context(), stranger, "covert"); err != nil || p.Paused {
		t.Errorf("it became %+v, %v", p, err)
	}
}

// A product may be called like a word of our addresses.
func TestAProductCalledNewHasItsPage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Product("new", jobs.ProductSettings{Repos: []string{"ledger-api"}})
	doc := handlertest.Page(t, d.Get(links.Product("new")), http.StatusOK)
	handlertest.WantText(t, doc, "#repos", "ledger-api")
	handlertest.WantRedirect(t, d.Post(doc.Find("#product-form").AttrOr("action", ""), productFields("new")), "/settings/products")
	handlertest.WantRedirect(t, d.Post(links.ProductAction("new", "pause"), nil), "/settings/products")
	if p := d.Settings("new"); len(p.Repos) != 0 || !p.Paused {
		t.Errorf("it became %+v", p)
	}
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/settings/products/new"), http.StatusOK), fmt.Sprintf("#name[maxlength='%d']", jobs.MaxName), 1)
}
