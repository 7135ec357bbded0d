package reference_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
)

// stranger asks without a session.
func stranger(t *testing.T, d *handlertest.Workspace, path string) *goquery.Document {
	t.Helper()
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d", path, w.Code)
	}
	doc, err := goquery.NewDocumentFromReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// The reference has each call, parameter, field and type of the description; each of its links leads
// somewhere, and nobody has to log in.
func TestTheReferenceHasEachCallAndType(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	index := stranger(t, d, "/docs/api")
	seen := map[string]*goquery.Document{}
	open := func(href string) (*goquery.Document, string) {
		path, anchor, _ := strings.Cut(href, "#")
		if seen[path] == nil {
			seen[path] = stranger(t, d, path)
		}
		return seen[path], anchor
	}
	follow := func(doc *goquery.Document) {
		doc.Find(`main a[href^="/docs/api/"]`).Each(func(_ int, a *goquery.Selection) {
			href := a.AttrOr("href", "")
			if page, anchor := open(href); anchor != "" && page.Find("#"+anchor).Length() != 1 {
				t.Errorf("%s leads nowhere", href)
			}
		})
	}
	follow(index)
	for range 2 { // what pages of types lead to, and what those do
		for _, doc := range seen {
			follow(doc)
		}
	}

	described, err := openapi3.NewLoader().LoadFromData([]byte(api.Description))
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range described.Paths.Map() {
		for method, o := range item.Operations() {
			doc := seen["/docs/api/"+o.Tags[0]]
			call := doc.Find("#" + o.OperationID)
			if text := call.Find("h2").Text(); text != method+" "+path {
				t.Errorf("%s is described as %q", o.OperationID, text)
			}
			for _, p := range o.Parameters {
				if !strings.Contains(call.Text(), p.Value.Name) {
					t.Errorf("%s has no parameter %s", o.OperationID, p.Value.Name)
				}
			}
		}
	}
	for name, schema := range described.Components.Schemas {
		doc := seen["/docs/api/types/"+name]
		if doc == nil {
			t.Errorf("there is no type %s", name)
			continue
		}
		for field := range schema.Value.Properties {
			if doc.Find("code").FilterFunction(func(_ int, s *goquery.Selection) bool { return s.Text() == field }).Length() == 0 {
				t.Errorf("%s has no field %s", name, field)
			}
		}
	}
	if n := index.Find("script[src]").Length(); n != 0 {
		t.Errorf("the page loads %d scripts", n)
	}
}

func TestPartsThatThereAreNot(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	for _, path := range []string{"/docs/api/nothing", "/docs/api/types/Nothing", "/docs/api/types/%3Cb%3E", "/docs/api/types", "/docs"} {
		handlertest.Page(t, d.Get(path), http.StatusNotFound)
	}
}
