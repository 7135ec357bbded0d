package static_test

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/static"
)

func get(t *testing.T, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	static.Handler().ServeHTTP(w, r)
	return w
}

func TestHandlerServesHashedNames(t *testing.T) {
	for name, contentType := range map[string]string{
		"css/app.css":                              "text/css; charset=utf-8",
		"js/app.js":                                "text/javascript; charset=utf-8",
		"mark-needed.svg":                          "image/svg+xml",
		"mark.svg":                                 "image/svg+xml",
		"fonts/geist-latin-wght-normal.woff2":      "font/woff2",
		"vendor/htmx.org-4.0.1/htmx.min.js":        "text/javascript; charset=utf-8",
		"vendor/sortablejs-1.15.7/Sortable.min.js": "text/javascript; charset=utf-8",
	} {
		url := static.URL(name)
		if !regexp.MustCompile(`-[0-9a-f]{8}\.\w+$`).MatchString(url) {
			t.Errorf("%s: address %s has no hash", name, url)
		}
		res := get(t, http.MethodGet, url)
		if res.Code != http.StatusOK || res.Header().Get("Content-Type") != contentType {
			t.Errorf("%s: %d %q, want 200 %q", url, res.Code, res.Header().Get("Content-Type"), contentType)
		}
		if got := res.Header().Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control %q", url, got)
		}
	}
}

func TestHandlerRefusesTheRest(t *testing.T) {
	for _, path := range []string{
		"/static/", "/static/css/app.css", "/static/css/app-00000000.css", "/static/vendor/manifest.json",
		"/static/vendor/htmx.org-4.0.1/LICENSE", "/static/embed.go", "/static/../go.mod",
	} {
		if res := get(t, http.MethodGet, path); res.Code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, res.Code)
		}
	}
	if res := get(t, http.MethodPost, static.URL("css/app.css")); res.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d, want 405", res.Code)
	}
}

func TestHandlerPacksText(t *testing.T) {
	url := static.URL("css/app.css")
	plain, err := io.ReadAll(get(t, http.MethodGet, url).Body)
	if err != nil {
		t.Fatal(err)
	}
	res := get(t, http.MethodGet, url, "Accept-Encoding", "br, gzip")
	if res.Header().Get("Content-Encoding") != "gzip" {
		t.Fatal("the stylesheet is not packed")
	}
	z, err := gzip.NewReader(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if string(packed) != string(plain) {
		t.Error("packed and plain differ")
	}
	for accept, want := range map[string]string{"": "", "gzip;q=0": "", "br, gzip; q=0.0": "", "notgzip": "", "br;q=1, GZIP; q=0.5": "gzip", "gzip;q=x": "gzip"} {
		res := get(t, http.MethodGet, url, "Accept-Encoding", accept)
		if got := res.Header().Get("Content-Encoding"); got != want {
			t.Errorf("who accepts %q gets %q; want %q", accept, got, want)
		}
		if res.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("the answer to %q may be given to others", accept)
		}
	}
}

// References between our own files carry the hash too, else a browser would
// ask for a name that is not served.
func TestReferencesResolve(t *testing.T) {
	reference := regexp.MustCompile(`(?:url\(["']?|from\s*["']|import\s*["'])([^"')]+)`)
	for _, name := range []string{"css/app.css", "js/app.js", "js/board.js", "js/cards.js", "js/door.js", "js/form.js", "js/live.js", "js/keys.js"} {
		body, err := io.ReadAll(get(t, http.MethodGet, static.URL(name)).Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range reference.FindAllStringSubmatch(string(body), -1) {
			if strings.HasPrefix(m[1], "data:") || strings.HasPrefix(m[1], "#") || strings.HasPrefix(m[1], "%23") { // inside an SVG
				continue
			}
			if res := get(t, http.MethodGet, m[1]); res.Code != http.StatusOK {
				t.Errorf("%s refers to %s: %d", name, m[1], res.Code)
			}
		}
	}
}

// Weights are a promise of the look: 35 KB of CSS and 60 KB of scripts on the
// board, packed.
func TestWeights(t *testing.T) {
	packed := func(name string) int {
		body, err := io.ReadAll(get(t, http.MethodGet, static.URL(name), "Accept-Encoding", "gzip").Body)
		if err != nil {
			t.Fatal(err)
		}
		return len(body)
	}
	if n := packed("css/app.css"); n < 10_000 || n > 35_000 {
		t.Errorf("app.css packed: %d bytes, want 10,000 to 35,000", n)
	}
	scripts := 0
	for _, name := range []string{
		"vendor/htmx.org-4.0.1/htmx.min.js", "vendor/htmx.org-4.0.1/hx-sse.min.js", "vendor/sortablejs-1.15.7/Sortable.min.js",
		"js/app.js", "js/board.js", "js/cards.js", "js/forms.js", "js/keys.js", "js/live.js", "js/palette.js", "js/time.js", "js/toast.js",
	} {
		scripts += packed(name)
	}
	if scripts > 60_000 {
		t.Errorf("scripts of the board packed: %d bytes, want at most 60,000", scripts)
	}
}

// The vendored files are those that were reviewed, and there are no others.
func TestVendoredFiles(t *testing.T) {
	raw, err := os.ReadFile("vendor/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Files []struct{ File, SHA256, Version, Licence string }
	}
	if err := json.Unmarshal(raw, &manifest); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"manifest.json": true}
	for _, f := range manifest.Files {
		body, err := os.ReadFile(filepath.Join("vendor", f.File))
		if err != nil {
			t.Error(err)
			continue
		}
		sum := sha256.Sum256(body)
		if got := hex.EncodeToString(sum[:]); got != f.SHA256 {
			t.Errorf("%s is %s, the manifest says %s", f.File, got, f.SHA256)
		}
		dir := filepath.Dir(f.File)
		if !strings.HasSuffix(dir, "-"+f.Version) || f.Licence == "" {
			t.Errorf("%s: folder, version and licence do not agree", f.File)
		}
		known[f.File], known[dir+"/LICENSE"] = true, true
	}
	err = filepath.WalkDir("vendor", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel("vendor", path)
		if err == nil && !known[filepath.ToSlash(rel)] {
			t.Errorf("%s is not in the manifest", path)
		}
		delete(known, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for missing := range known {
		t.Errorf("%s is missing", missing)
	}
}

// Some of what htmx tells it tells its extensions only. A listener hears nothing of
// that, and an extension is asked only where its hook is one of htmx's.
func TestScriptsListenToWhatHtmxTells(t *testing.T) {
	var vendored strings.Builder
	for _, name := range []string{"htmx.min.js", "hx-sse.min.js"} {
		body, err := os.ReadFile(filepath.Join("vendor/htmx.org-4.0.1", name))
		if err != nil {
			t.Fatal(err)
		}
		vendored.Write(body)
	}
	dispatched, asked := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`(#L|#\$|triggerHtmxEvent)\([^"(]*"(htmx:[\w:]+)"`).FindAllStringSubmatch(vendored.String(), -1) {
		asked[strings.ReplaceAll(m[2], ":", "_")] = true
		dispatched[m[2]] = dispatched[m[2]] || m[1] != "#$"
	}
	if !dispatched["htmx:after:swap"] || dispatched["htmx:before:morph:node"] || !asked["htmx_before_morph_node"] {
		t.Fatalf("htmx dispatches %v and asks %v", dispatched, asked)
	}
	files, err := filepath.Glob("js/*.js")
	if err != nil {
		t.Fatal(err)
	}
	used := regexp.MustCompile(`addEventListener\("(htmx:[^"]+)"|\b(htmx_\w+):`)
	for _, f := range files {
		body, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range used.FindAllStringSubmatch(string(body), -1) {
			if !dispatched[m[1]] && !asked[m[2]] {
				t.Errorf("%s waits for %s, which htmx never tells", f, m[1]+m[2])
			}
		}
	}
}

// Our modules must run under script-src 'self' and never build markup of text.
func TestOwnScriptsAreTame(t *testing.T) {
	banned := regexp.MustCompile(`\beval\(|new Function|innerHTML\s*=|outerHTML\s*=|insertAdjacentHTML|document\.write|\.style\b|setAttribute\("on`)
	files, err := filepath.Glob("js/*.js")
	if err != nil || len(files) < 8 {
		t.Fatalf("found %d modules: %v", len(files), err)
	}
	for _, f := range files {
		body, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if m := banned.Find(body); m != nil {
			t.Errorf("%s uses %s", f, m)
		}
	}
}

// hasOfAll are selectors with :has() whose element may be any, or the whole page, or that go on
// with ::placeholder, which any may be asked for.
var hasOfAll = regexp.MustCompile(`(?:[\s{}>+~]|[\s{},>+~](?:\*|html|body|:root|:scope)):has\(|:has\([^{}]*::placeholder`)

// A rule for whatever has something within it lets each change of a page, and each move of the
// focus, calculate the styles of all its elements.
func TestNoRuleLooksIntoEveryElement(t *testing.T) {
	css, err := os.ReadFile("css/app.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range hasOfAll.FindAllIndex(css, -1) {
		t.Errorf("name the element that has it: %s", css[at[0]:min(at[1]+80, len(css))])
	}
}
