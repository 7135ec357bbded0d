package settings_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
	"github.com/fleetboard/fleetboard/views/viewstest"
)

func sampleProducts() settings.Products {
	return settings.Products{CanManage: true, Only: true, List: []settings.Product{
		{Name: "default", BoardURL: links.Board, Review: "Not needed", PerRepo: "Any number", Limit: "None", EditURL: links.Product("default"), PauseURL: links.ProductAction("default", "pause")},
		{Name: "ledger", BoardURL: links.Board, Repos: []string{"a", "b", "c", "d", "e"}, Review: "A person approves", PerRepo: "One at a time", Limit: "2 in review, limit 2",
			LimitTone: ui.Warn, Paused: true, EditURL: links.Product("ledger"), ResumeURL: links.ProductAction("ledger", "resume")}}}
}

func sampleProductForm() settings.ProductForm {
	return settings.ProductForm{Name: "ledger", SaveURL: links.Product("ledger"), BoardURL: links.Board, Form: ui.Form{Typed: url.Values{"repos": {"a\nb"}, "review_required": {"1"}, "review_limit": {"2"}}},
		InReview: "In review now: 1.", PauseURL: links.ProductAction("ledger", "pause"),
		Delete: &ui.Action{Verb: "delete", Label: "Delete product", URL: links.ProductAction("ledger", "delete"), Danger: true,
			Dialog: &ui.Dialog{Title: "Delete ledger?", Text: ui.Text("It goes."), Keep: "Keep it", Confirm: "Delete product"}}}
}

// The pages of products keep the rules of every page, also where all of their
// text is hostile.
func TestProductPagesKeepTheRules(t *testing.T) {
	shell := viewstest.Shell("", "Products")
	fresh := settings.ProductForm{New: true, SaveURL: links.Products, Form: ui.Form{Error: "The product was not saved.",
		Errors: map[string]string{"name": "It is taken.", "repos": "One is another's.", "review_limit": "A number."}}}
	for name, c := range map[string]templ.Component{
		"list": settings.ProductsView(settings.ProductsPage{Shell: shell, Products: sampleProducts()}), "form": settings.ProductView(settings.ProductPage{Shell: shell, Form: sampleProductForm()}),
		"refused": settings.ProductView(settings.ProductPage{Shell: shell, Form: fresh}), "hostile list": settings.ProductsView(settings.ProductsPage{Shell: shell, Products: viewstest.Poisoned(sampleProducts())}),
		"hostile form": settings.ProductView(settings.ProductPage{Shell: shell, Form: viewstest.Poisoned(sampleProductForm())}), "hostile refused": settings.ProductView(settings.ProductPage{Shell: shell, Form: viewstest.Poisoned(fresh)}),
	} {
		t.Run(name, func(t *testing.T) {
			doc := viewstest.Parsed(t, c)
			viewstest.StrictPolicy(t, doc)
			viewstest.OneOfEach(t, doc)
			viewstest.References(t, doc)
			viewstest.FormsWithoutScript(t, doc)
			if n := doc.Find("[data-pwned], img").Length(); n != 0 {
				t.Errorf("%d elements of the hostile text became markup", n)
			}
			doc.Find("p, span, a, h1, h2, h3, td, dd, title").Each(func(_ int, el *goquery.Selection) {
				if strings.ContainsAny(el.Text(), "\u202e\x1b") {
					t.Errorf("a control character is shown in <%s>", goquery.NodeName(el))
				}
			})
		})
	}
}
