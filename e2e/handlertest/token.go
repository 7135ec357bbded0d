package handlertest

import (
	"net/http"
	"net/url"
)

// Made makes a token at the page and returns it.
func (w *Workspace) Made(s *Site, in url.Values) string {
	w.t.Helper()
	doc := Page(w.t, s.Post("/settings/tokens", in), http.StatusOK)
	token := doc.Find("#new-token pre").Text()
	if doc.Find("#new-token [data-copy='"+token+"']").Length() != 1 || token == "" {
		w.t.Fatalf("the page shows no token to copy: %q", token)
	}
	return token
}
