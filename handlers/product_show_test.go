package handlers

import (
	"net/http"
	"strings"
	"testing"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/dispatch"
	"fleetboard/internal/jobs"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
)

// product makes one.
func (d *desk) product(name string, in jobs.ProductSettings) {
	d.t.Helper()
	if _, _, err := d.Jobs.PutProduct(d.t.Context(), d.owner, name, in); err != nil {
		d.t.Fatal(err)
	}
}

// settings reads a product's settings again.
func (d *desk) settings(name string) jobs.Product {
	d.t.Helper()
	p, err := d.Jobs.Product(d.t.Context(), d.owner, name)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

func limit(n int) *int { return &n }

func TestProductsSayWhatTheyAllow(t *testing.T) {
	d := newDesk(t)
	doc := page(t, d.get("/settings/products"), http.StatusOK)
	wantText(t, doc, ".empty", "A product groups repos, shows their jobs together")
	wantText(t, doc, "tr[data-product=default]", "default Repos NoneReview Not neededJobs per repo Any numberReview limit None")
	wantCount(t, doc, "tr[data-product=default] a[href='/board?product=default']", 1)

	d.product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api", "ledger-web"}, ReviewRequired: true, OneJobPerRepo: true, ReviewLimit: limit(2), Paused: true})
	d.product("team/shop", jobs.ProductSettings{})
	doc = page(t, d.get("/settings/products"), http.StatusOK)
	wantCount(t, doc, ".empty", 0)
	wantText(t, doc, "tr[data-product=ledger]", "ledger PausedRepos ledger-api ledger-web Review A person approvesJobs per repo One at a timeReview limit 0 of 2 in review")
	wantText(t, doc, "#main dl", "One job of a repo is ready or in work at a time")
	wantCount(t, doc, "a[href='/settings/products/team%2Fshop']", 1)
	page(t, d.get("/settings/products/team%2Fshop"), http.StatusOK)
	wantCount(t, doc, ".settings-nav a[href='/settings/products'][aria-current=page]", 1)
	wantCount(t, page(t, d.get("/board"), http.StatusOK), ".side .nav a[href='/settings']", 1)
	wantCount(t, page(t, d.get("/palette?q=prod"), http.StatusOK), "a[href='/settings/products']", 1)
}

// The limit of a review queue is shown beside what waits in it now.
func TestProductsSayHowMuchWaitsForReview(t *testing.T) {
	d := newDesk(t)
	d.product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api"}, ReviewRequired: true, ReviewLimit: limit(2)})
	agent := d.agent("claude-1")
	for _, text := range []string{"1 of 2 in review", "2 in review, limit 2"} {
		d.job("Alpha", func(n *jobs.New) { n.Repo = "ledger-api" })
		j := d.claim(agent)
		if _, err := d.elsewhere.Complete(t.Context(), agent, dispatch.Ref{Job: j.Key, Epoch: j.Epoch}, dispatch.Completion{}); err != nil {
			t.Fatal(err)
		}
		wantText(t, page(t, d.get("/settings/products"), http.StatusOK), "tr[data-product=ledger]", text)
	}
	wantCount(t, page(t, d.get("/settings/products"), http.StatusOK), "tr[data-product=ledger] .warn", 1)
	wantText(t, page(t, d.get("/settings/products/ledger"), http.StatusOK), "#review_limit-h", "In review now: 2.")
}

// Who may not change products sees the settings, no button, and no form.
func TestProductsForThoseWhoOnlyLook(t *testing.T) {
	d := newDesk(t)
	d.product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api"}})
	for _, role := range []tenancy.Role{tenancy.RoleViewer, tenancy.RoleMember} {
		other := d.as(role)
		doc := page(t, other.get("/settings/products"), http.StatusOK)
		wantText(t, doc, "tr[data-product=ledger]", "ledger-api")
		wantCount(t, doc, "#main button, #main form, #main a.btn, #products a[href^='/settings']", 0)
		for _, address := range []string{"/settings/products/new", "/settings/products/ledger"} {
			read(t, other.get(address), http.StatusForbidden)
		}
		for _, address := range []string{"", "/ledger", "/ledger/pause", "/ledger/resume", "/ledger/delete"} {
			read(t, other.post("/settings/products"+address, productFields("ledger")), http.StatusForbidden)
		}
	}
	if p := d.settings("ledger"); p.Paused || len(p.Repos) != 1 {
		t.Errorf("they changed it: %+v", p)
	}
	doc := page(t, d.as(tenancy.RoleAdmin).get("/settings/products"), http.StatusOK)
	wantCount(t, doc, "#main form[action='/settings/products/ledger/pause'] button", 1)
}

func TestProductsOfAnotherWorkspaceAreNotThere(t *testing.T) {
	d := newDesk(t)
	stranger := dbfactory.Person(dbfactory.Workspace(t, d.db), tenancy.RoleOwner)
	if _, _, err := d.Jobs.PutProduct(t.Context(), stranger, "covert", jobs.ProductSettings{Repos: []string{"covert-api"}}); err != nil {
		t.Fatal(err)
	}
	if body := read(t, d.get("/settings/products"), http.StatusOK); strings.Contains(body, "covert") {
		t.Error("the list names it")
	}
	read(t, d.get("/settings/products/covert"), http.StatusNotFound)
	for _, address := range []string{"/covert", "/covert/pause", "/covert/resume", "/covert/delete"} {
		read(t, d.post("/settings/products"+address, productFields("covert")), http.StatusNotFound)
	}
	if p, err := d.Jobs.Product(t.Context(), stranger, "covert"); err != nil || p.Paused {
		t.Errorf("it became %+v, %v", p, err)
	}
}

// A product may be called like a word of our addresses.
func TestAProductCalledNewHasItsPage(t *testing.T) {
	d := newDesk(t)
	d.product("new", jobs.ProductSettings{Repos: []string{"ledger-api"}})
	doc := page(t, d.get(links.Product("new")), http.StatusOK)
	wantText(t, doc, "#repos", "ledger-api")
	wantRedirect(t, d.post(doc.Find("#product-form").AttrOr("action", ""), productFields("new")), "/settings/products")
	wantRedirect(t, d.post(links.ProductAction("new", "pause"), nil), "/settings/products")
	if p := d.settings("new"); len(p.Repos) != 0 || !p.Paused {
		t.Errorf("it became %+v", p)
	}
	wantCount(t, page(t, d.get("/settings/products/new"), http.StatusOK), "#name", 1)
}
