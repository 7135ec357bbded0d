package settings_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

// productFields returns the form as a browser sends it, with nothing chosen.
func productFields(name string, change ...func(url.Values)) url.Values {
	in := url.Values{"name": {name}, "repos": {""}, "review_limit": {""}}
	for _, c := range change {
		c(in)
	}
	return in
}

func TestMakeAProduct(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	admin := d.As(tenancy.RoleAdmin)
	in := productFields("ledger", func(v url.Values) {
		v.Set("repos", "ledger-api\r\n\r\n ledger-web \r\nledger-api")
		v.Set("review_required", "1")
		v.Set("serialise", "repo")
		v.Set("review_limit", "3")
	})
	for range 2 { // pressed twice, the second changes nothing
		handlertest.WantRedirect(t, admin.Post("/settings/products", in), "/settings/products")
		handlertest.WantText(t, handlertest.Page(t, admin.Get("/settings/products"), http.StatusOK), "#toasts", "ledger created")
	}
	p := d.Settings("ledger")
	if web.JoinAnd(p.Repos) != "ledger-api and ledger-web" || !p.ReviewRequired || p.Serialise != jobs.SerialiseRepo || *p.ReviewLimit != 3 || p.Paused {
		t.Errorf("made %+v", p)
	}
	if n := dbfactory.Int(t, d.DB, `SELECT count(*) FROM event WHERE type = 'product.saved'`); n != 1 {
		t.Errorf("%d events of two presses", n)
	}
}

// A form for a new product never replaces the settings of one that is there.
func TestTheNameOfANewProductIsFree(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api"}, Paused: true})
	for _, repos := range []string{"shop", "ledger-api"} {
		doc := handlertest.Page(t, d.Post("/settings/products", productFields("ledger", func(v url.Values) { v.Set("repos", repos) })), http.StatusUnprocessableEntity)
		handlertest.WantText(t, doc, "#name-e", "There is a product ledger already.")
		handlertest.WantText(t, doc, "#repos", repos)
	}
	if p := d.Settings("ledger"); web.JoinAnd(p.Repos) != "ledger-api" || !p.Paused {
		t.Errorf("it became %+v", p)
	}
}

func TestARefusedProductKeepsWhatWasTyped(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Product("shop", jobs.ProductSettings{Repos: []string{"shop-api"}})
	doc := handlertest.Page(t, d.Post("/settings/products", productFields("", func(v url.Values) {
		v.Set("repos", "mine\n<b>\n")
		v.Set("review_required", "1")
		v.Set("review_limit", "many")
	})), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, ".form-err", "The product was not saved. 2 fields need another value; your text is kept.")
	handlertest.WantText(t, doc, "#name-e", "A product must have a name.")
	handlertest.WantText(t, doc, "#review_limit-e", "A whole number from 1 to 100000.")
	handlertest.WantCount(t, doc, "#review_limit[value=many][aria-invalid][aria-describedby~=review_limit-e]", 1)
	handlertest.WantCount(t, doc, "#review_required[checked]", 1)
	handlertest.WantCount(t, doc, "#serialise option[value='repo'][selected]", 0)
	if text := doc.Find("#repos").Text(); text != "mine\n<b>\n" {
		t.Errorf("the repos became %q", text)
	}

	// What only the domain knows stands at its field, too, and names the repo.
	doc = handlertest.Page(t, d.Post("/settings/products", productFields("a b", func(v url.Values) { v.Set("repos", "mine\n<b>\nshop-api") })), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#name-e", "must be a name")
	handlertest.WantText(t, doc, "#repos-e", "<b>: It must be a name: letters, digits and")
	doc = handlertest.Page(t, d.Post("/settings/products", productFields("mine", func(v url.Values) { v.Set("repos", "mine\nshop-api") })), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#repos-e", "The repo shop-api belongs to the product shop.")
	handlertest.WantCount(t, doc, "#name[value=mine]", 1)

	// The same where the product is there.
	doc = handlertest.Page(t, d.Post("/settings/products/default", productFields("", func(v url.Values) { v.Set("review_limit", "0") })), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#review_limit-e", "A whole number")
	handlertest.WantCount(t, doc, "#name", 0)
	if list, err := d.Jobs.Products(t.Context(), d.Owner); err != nil || len(list) != 2 {
		t.Errorf("%d products, %v", len(list), err)
	}
}

func TestEditAProduct(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	admin := d.As(tenancy.RoleAdmin)
	d.Product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api", "ledger-web"}, Serialise: jobs.SerialiseRepo, ReviewLimit: limit(3), Paused: true})
	doc := handlertest.Page(t, admin.Get("/settings/products/ledger"), http.StatusOK)
	handlertest.WantText(t, doc, ".crumb", "SettingsProducts and repos ledger")
	handlertest.WantCount(t, doc, "#name", 0)
	handlertest.WantCount(t, doc, "#serialise option[value='repo'][selected], #review_limit[value='3']", 2)

	in := productFields("", func(v url.Values) {
		v.Set("repos", "ledger-api\nledger-cli")
		v.Set("review_required", "1")
	})
	handlertest.WantRedirect(t, admin.Post("/settings/products/ledger", in), "/settings/products")
	handlertest.WantText(t, handlertest.Page(t, admin.Get("/settings/products"), http.StatusOK), "#toasts", "ledger saved"+
		"Added ledger-cli, removed ledger-web, a person approves, any number of jobs per repo, review limit 3 to none.")
	p := d.Settings("ledger")
	if web.JoinAnd(p.Repos) != "ledger-api and ledger-cli" || !p.ReviewRequired || p.Serialise != jobs.SerialiseNone || p.ReviewLimit != nil {
		t.Errorf("it became %+v", p)
	}
	if !p.Paused {
		t.Error("the form let a paused product go on")
	}
	handlertest.WantRedirect(t, admin.Post("/settings/products/ledger", in), "/settings/products")
	handlertest.WantText(t, handlertest.Page(t, admin.Get("/settings/products"), http.StatusOK), "#toasts", "Nothing has changed.")
}

func TestPauseAProductFromTheList(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	was := jobs.ProductSettings{Repos: []string{"ledger-api"}, ReviewRequired: true, Serialise: jobs.SerialiseRepo, ReviewLimit: limit(3)}
	d.Product("ledger", was)
	button := func(want string) string {
		t.Helper()
		doc := handlertest.Page(t, d.Get("/settings/products"), http.StatusOK)
		handlertest.WantText(t, doc, "tr[data-product=ledger] form", want)
		return doc.Find("tr[data-product=ledger] form").AttrOr("action", "")
	}
	for range 2 { // pressed twice is paused
		handlertest.WantRedirect(t, d.Post("/settings/products/ledger/pause", nil), "/settings/products")
	}
	handlertest.WantText(t, handlertest.Page(t, d.Get("/settings/products"), http.StatusOK), "#toasts", "ledger is pausedAgents get no new jobs of it")
	if p := d.Settings("ledger"); !p.Paused || web.JoinAnd(p.Repos) != "ledger-api" || !p.ReviewRequired || p.Serialise != jobs.SerialiseRepo || *p.ReviewLimit != 3 {
		t.Errorf("it became %+v", p)
	}
	handlertest.WantRedirect(t, d.Post(button("Go on"), nil), "/settings/products")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/settings/products"), http.StatusOK), "#toasts", "ledger goes on")
	if d.Settings("ledger").Paused {
		t.Error("it is still paused")
	}
	button("Pause")

	// From the product's own page one comes back to it.
	r := handlertest.Request(http.MethodPost, "/settings/products/ledger/pause", url.Values{})
	r.Header.Set("Referer", "http://example.com/settings/products/ledger")
	handlertest.WantRedirect(t, d.Do(r), "/settings/products/ledger")
}

func TestDeleteAProduct(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api"}})
	d.Product("shop", jobs.ProductSettings{})
	d.Job("Alpha", func(n *jobs.New) { n.Repo = "ledger-api" })
	doc := handlertest.Page(t, d.Get("/settings/products/ledger"), http.StatusOK)
	handlertest.WantText(t, doc, "#dlg-delete", "Delete ledger?")
	remove := doc.Find("#dlg-delete form[method=post]").AttrOr("action", "")

	handlertest.WantRedirect(t, d.Post(remove, nil), "/settings/products/ledger")
	handlertest.WantText(t, handlertest.Page(t, d.Get("/settings/products/ledger"), http.StatusOK), "#toasts", "ledger was not deletedledger has jobs, maybe archived ones.")
	handlertest.WantRedirect(t, d.Post("/settings/products/shop/delete", nil), "/settings/products")
	doc = handlertest.Page(t, d.Get("/settings/products"), http.StatusOK)
	handlertest.WantText(t, doc, "#toasts", "shop was deleted")
	handlertest.WantCount(t, doc, "tr[data-product=shop]", 0)
	handlertest.Read(t, d.Post("/settings/products/shop/delete", nil), http.StatusNotFound)

	doc = handlertest.Page(t, d.Get("/settings/products/default"), http.StatusOK)
	handlertest.WantCount(t, doc, "#dlg-delete", 0)
	handlertest.WantText(t, doc, "#product-end", "Jobs that name no product belong to default; it stays.")
	handlertest.WantRedirect(t, d.Post("/settings/products/default/delete", nil), "/settings/products/default")
}

// The product's page says whether agents get its jobs, takes a reason for a stop, and
// leads to what belongs to the product.
func TestPauseAProductWithAReason(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Product("ledger", jobs.ProductSettings{Repos: []string{"ledger-api"}})
	doc := handlertest.Page(t, d.Get("/settings/products/ledger"), http.StatusOK)
	handlertest.WantText(t, doc, "#product-state", "Active")
	for _, to := range []string{"/board?product=ledger", "/board?product=ledger&repo=ledger-api", "/jobs/new?product=ledger", "/timeline?group=products"} {
		handlertest.WantCount(t, doc, "#main nav a[href='"+to+"']", 1)
	}
	handlertest.WantCount(t, doc, "p > form, p nav", 0)
	pause := doc.Find("#product-pause form").AttrOr("action", "")
	handlertest.Read(t, d.Post(pause, url.Values{"reason": {strings.Repeat("x", jobs.MaxPauseReason+1)}}), http.StatusUnprocessableEntity)
	if d.Settings("ledger").Paused {
		t.Error("it is paused, though its reason was refused")
	}
	handlertest.WantRedirect(t, d.Post(pause, url.Values{"reason": {"Release freeze"}}), "/settings/products")
	doc = handlertest.Page(t, d.Get("/settings/products/ledger"), http.StatusOK)
	handlertest.WantText(t, doc, "#product-state", "Paused")
	handlertest.WantCount(t, doc, "#product-state form[action$='/resume']", 1)
	handlertest.WantText(t, handlertest.Page(t, d.Get("/settings/audit"), http.StatusOK), "#main", "ledger: Release freeze")
}

// How approved work is merged is chosen in the form, kept where it is refused, and shown
// again.
func TestMergesAreChosenInTheForm(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	chosen := productFields("ledger", func(v url.Values) {
		v.Set("merge_by", "worker")
		v.Set("merge_method", "fast_forward")
		v.Set("merge_into", "a..b")
		v.Set("merge_checks", "make test")
	})
	doc := handlertest.Page(t, d.Post("/settings/products", chosen), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#merge_into-e", "It must be the name of a branch.")
	chosen.Set("merge_into", "trunk")
	chosen.Set("branch_retention_days", "4000")
	doc = handlertest.Page(t, d.Post("/settings/products", chosen), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#branch_retention_days-e", "A whole number from 0 to 3650.")
	chosen.Set("branch_retention_days", "0")
	d.Post("/settings/products", chosen)
	doc = handlertest.Page(t, d.Get("/settings/products/ledger"), http.StatusOK)
	for field, want := range map[string]string{"#merge_by option[selected]": "worker", "#merge_method option[selected]": "fast_forward",
		"#merge_into": "trunk", "#merge_checks": "make test", "#branch_retention_days": "0"} {
		if got := doc.Find(field).AttrOr("value", ""); got != want {
			t.Errorf("%s is %q", field, got)
		}
	}
}

// Models are chosen in a table, refused beside their field, and those of engines without a row stay.
func TestModelsAreChosenInATable(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	if _, _, err := d.Jobs.PutProduct(t.Context(), d.Owner, "ledger", jobs.ProductSettings{Models: tiermodel.Table{
		"command": {"large": "big"}, "claude": {"large": "opus"}, "codex": {"small": "gpt-5-mini"}}}); err != nil {
		t.Fatal(err)
	}
	doc := handlertest.Page(t, d.Get("/settings/products/ledger"), http.StatusOK)
	for field, want := range map[string]string{"#models-claude-large": "opus", "#models-codex-small": "gpt-5-mini", "#models-opencode-small": ""} {
		if got := doc.Find(field).AttrOr("value", "none"); got != want {
			t.Errorf("%s is %q", field, got)
		}
	}
	handlertest.WantText(t, doc, "#models .chip", "command:large=big")
	chosen := productFields("ledger", func(v url.Values) {
		v.Set("models-claude-small", "haiku")
		v.Set("models-claude-large", "--continue")
	})
	doc = handlertest.Page(t, d.Post("/settings/products/ledger", chosen), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#models-claude-large-e", "begins with a letter or digit")
	if got := doc.Find("#models-claude-small").AttrOr("value", ""); got != "haiku" {
		t.Errorf("what was typed is %q", got)
	}
	chosen.Set("models-claude-large", "sonnet[1m]")
	handlertest.WantRedirect(t, d.Post("/settings/products/ledger", chosen), "/settings/products")
	want := tiermodel.Table{"command": {"large": "big"}, "claude": {"small": "haiku", "large": "sonnet[1m]"}}
	if got := d.Settings("ledger").Models; !got.Equal(want) {
		t.Errorf("it names %v", got)
	}
}

func TestAProductHasItsWorkVerified(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Product("ledger", jobs.ProductSettings{})
	in := productFields("", func(v url.Values) {
		v.Set("verify_mode", "agent")
		v.Set("verify_distinct", "model")
		v.Set("verify_rounds", "0")
		v.Set("verify_capabilities", "has:browser gpu")
	})
	handlertest.WantRedirect(t, d.Post("/settings/products/ledger", in), "/settings/products")
	p := d.Settings("ledger").Verify
	if p.Mode != jobs.VerifyByAgent || p.Distinct != "model" || *p.Rounds != 0 || web.JoinAnd(p.Capabilities) != "gpu and has:browser" {
		t.Errorf("it became %+v", p)
	}
	doc := handlertest.Page(t, d.Get("/settings/products/ledger"), http.StatusOK)
	handlertest.WantCount(t, doc, "#verify_mode option[value='agent'][selected], #verify_distinct option[value='model'][selected], "+
		"#verify_rounds[value='0'], #verify_capabilities[value='gpu has:browser']", 4)
	in.Set("verify_capabilities", "Not One")
	doc = handlertest.Page(t, d.Post("/settings/products/ledger", in), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#verify_capabilities-e", "It must be a capability")
}

func TestAProductHasSmallWorkApprovedByThePolicy(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Product("ledger", jobs.ProductSettings{})
	doc := handlertest.Page(t, d.Get("/settings/products/ledger"), http.StatusOK)
	handlertest.WantCount(t, doc, "#auto_approve:not([checked]), #auto_max_lines[value='50'], #auto_max_files[value='5'], #auto_by option[value='verdict'][selected]", 4)
	handlertest.WantText(t, doc, "#auto_deny_paths", "migrations")
	in := productFields("", func(v url.Values) {
		v.Set("auto_approve", "1")
		v.Set("auto_by", "author")
		v.Set("auto_max_lines", "20")
		v.Set("auto_deny_paths", "infra\n*.sql")
	})
	doc = handlertest.Page(t, d.Post("/settings/products/ledger", in), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#product-form", "Nothing is saved yet.")
	handlertest.WantText(t, doc, "#auto-preview", "Nothing was handed in for a review.")
	if d.Settings("ledger").AutoApprove.Enabled {
		t.Error("it was switched on before it was seen")
	}
	handlertest.WantCount(t, handlertest.Page(t, d.Get("/settings/products/ledger?preview=1"), http.StatusOK), "#auto-preview", 1)
	in.Set("auto_seen", "1")
	handlertest.WantRedirect(t, d.Post("/settings/products/ledger", in), "/settings/products")
	p := d.Settings("ledger").AutoApprove
	if !p.Enabled || *p.RequireVerdict || *p.MaxLines != 20 || *p.MaxFiles != 5 || web.JoinAnd(p.DenyPaths) != "*.sql and infra" {
		t.Errorf("it became %+v", p)
	}
	doc = handlertest.Page(t, d.Get("/settings/products/ledger"), http.StatusOK)
	handlertest.WantCount(t, doc, "#auto_approve[checked], #auto_max_lines[value='20'], #auto_by option[value='author'][selected]", 3)
	in.Set("auto_by", "verdict")
	in.Set("auto_deny_paths", "infra\n!docs")
	doc = handlertest.Page(t, d.Post("/settings/products/ledger", in), http.StatusUnprocessableEntity)
	handlertest.WantText(t, doc, "#auto_by-e", "No verdict would ever come")
	handlertest.WantText(t, doc, "#auto_deny_paths-e", "It must")
}
