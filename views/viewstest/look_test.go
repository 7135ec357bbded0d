package viewstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/static"
	"github.com/fleetboard/fleetboard/views/layout"
)

// policy is the one that the server sends with every page.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'"

// gallery serves every sample page as the server would, and each of them in a
// frame of a given width, because a browser window cannot be made as narrow as
// a phone.
func gallery(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("/page/{theme}/{name}", func(w http.ResponseWriter, r *http.Request) {
		c := samplePages(layout.Theme(r.PathValue("theme")))[r.PathValue("name")]
		if c == nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err := c.Render(r.Context(), w); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("/frame/{theme}/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, `<!doctype html><body style="margin:0"><iframe src="/page/%s/%s" width="%s" height="900" style="border:0"></iframe>`,
			r.PathValue("theme"), r.PathValue("name"), r.URL.Query().Get("width"))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

// TestGallery gets every page over HTTP. With FLEETBOARD_SHOTS=<folder> it
// also takes a picture of each in both themes and three widths with chromium,
// to be compared with the mockups.
func TestGallery(t *testing.T) {
	srv := gallery(t)
	shots := os.Getenv("FLEETBOARD_SHOTS")
	for name := range samplePages(layout.ThemeLight) {
		for _, theme := range []layout.Theme{layout.ThemeLight, layout.ThemeDark} {
			res, err := http.Get(srv.URL + "/page/" + string(theme) + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(io.Discard, res.Body)
			if err := errors.Join(err, res.Body.Close()); err != nil {
				t.Error(err)
			}
			if res.StatusCode != http.StatusOK {
				t.Errorf("%s: %d", name, res.StatusCode)
			}
			for _, width := range []int{360, 768, 1440} {
				if shots != "" {
					shoot(t, srv.URL, shots, name, theme, width)
				}
			}
		}
	}
}

func shoot(t *testing.T, base, dir, name string, theme layout.Theme, width int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--disable-background-networking",
		"--virtual-time-budget=3000", fmt.Sprintf("--window-size=%d,900", max(width, 500)),
		"--screenshot="+filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, width, theme)),
		fmt.Sprintf("%s/frame/%s/%s?width=%d", base, theme, name, width))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", name, err, out)
	}
}
