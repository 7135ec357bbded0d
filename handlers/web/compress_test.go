package web

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
)

func TestAcceptsGzip(t *testing.T) {
	for _, c := range []struct {
		encoding, site string
		want           bool
	}{
		{"", "", false},
		{"gzip", "", true},
		{"deflate, gzip;q=1.0, *;q=0.5", "", true},
		{"gzip, deflate, br, zstd", "same-origin", true},
		{"GZIP", "none", true},
		{"gzip;q=0", "", false},
		{"gzip; q=0.0, br", "", false},
		{"br", "", false},
		{"xgzip", "", false},
		{"gzip", "cross-site", false},
		{"gzip", "same-site", false},
	} {
		r := &http.Request{Header: http.Header{"Accept-Encoding": {c.encoding}, "Sec-Fetch-Site": {c.site}}}
		if got := AcceptsGzip(r); got != c.want {
			t.Errorf("%q from %q: %v", c.encoding, c.site, got)
		}
	}
}

// A page is compressed for whoever can read that, and never where a secret is in it or another
// site made the browser ask.
func TestPagesAreCompressed(t *testing.T) {
	page := text(strings.Repeat("<p>Fix flaky TestReaper</p>", 100))
	for name, c := range map[string]struct {
		show func(echo.Context, int, templ.Component) error
		page templ.Component
		site string
		want string
	}{
		"a page":            {Render, page, "same-origin", "gzip"},
		"a small one":       {Render, text("<p>It was moved</p>"), "same-origin", ""},
		"for another site":  {Render, page, "cross-site", ""},
		"a page of secrets": {RenderSecret, page, "same-origin", ""},
	} {
		r, w := httptest.NewRequest(http.MethodGet, "/board", nil), httptest.NewRecorder()
		r.Header.Set("Accept-Encoding", "gzip")
		r.Header.Set("Sec-Fetch-Site", c.site)
		if err := c.show(echo.New().NewContext(r, w), http.StatusOK, c.page); err != nil {
			t.Fatal(err)
		}
		if got := w.Header().Get("Content-Encoding"); got != c.want {
			t.Errorf("%s is encoded as %q", name, got)
		}
		var body io.Reader = w.Body
		if c.want != "" {
			var err error
			if body, err = gzip.NewReader(w.Body); err != nil {
				t.Fatal(err)
			}
		}
		text, err := io.ReadAll(body)
		var want strings.Builder
		if err := c.page.Render(t.Context(), &want); err != nil || string(text) != want.String() {
			t.Errorf("%s came as %d bytes, %v", name, len(text), err)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// text returns a component of nothing but HTML.
func text(html string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, html)
		return err
	})
}
