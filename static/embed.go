// Package static holds what browsers load: the built stylesheet, our ES
// modules, fonts and the vendored scripts. Every file is served under a name
// with the hash of its content, so browsers keep it for ever and a new build
// is never mixed with an old one.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Prefix is the path that Handler serves.
const Prefix = "/static/"

//go:embed css/app.css js/*.js fonts/*.woff2 vendor *.svg
var content embed.FS

// asset is a file as it is served.
type asset struct {
	url    string // with the hash
	mime   string
	body   []byte
	packed []byte // gzip, nil where it saves nothing
}

// URL returns the address of a file: URL("css/app.css") is
// "/static/css/app-1f2e3d4c.css". It panics when there is no such file, which
// the tests of the pages would show.
func URL(name string) string {
	a, ok := assets().byName[name]
	if !ok {
		panic("static: no file " + name)
	}
	return a.url
}

// PushWorker returns the script of the service worker, which has an address of its own.
func PushWorker() []byte { return assets().byName["js/pushworker.js"].body }

// Handler serves the files under their hashed names and nothing else. The
// request's path includes Prefix.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := assets().byURL[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		a.serve(w, r)
	})
}

// AcceptsGzip reports whether a request's headers allow an answer in gzip. A weight of 0 forbids it.
func AcceptsGzip(h http.Header) bool {
	for entry := range strings.SplitSeq(h.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.ToLower(strings.TrimSpace(entry)), ";")
		if strings.TrimSpace(name) != "gzip" {
			continue
		}
		q, weighed := strings.CutPrefix(strings.TrimSpace(weight), "q=")
		n, err := strconv.ParseFloat(q, 64)
		return !weighed || err != nil || n > 0
	}
	return false
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.mime)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	body := a.body
	if a.packed != nil {
		h.Set("Vary", "Accept-Encoding")
		if AcceptsGzip(r.Header) {
			h.Set("Content-Encoding", "gzip")
			body = a.packed
		}
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body) // the client has gone: nobody to tell
}

// index finds assets by their source name and by their address.
type index struct {
	byName map[string]*asset
	byURL  map[string]*asset
}

// assets reads all files once.
var assets = sync.OnceValue(func() index {
	in := index{byName: map[string]*asset{}, byURL: map[string]*asset{}}
	err := fs.WalkDir(content, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && served(name) {
			in.load(name)
		}
		return err
	})
	if err != nil {
		panic("static: " + err.Error()) // the files are part of the program
	}
	return in
})

var mimes = map[string]string{
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".svg":   "image/svg+xml",
	".woff2": "font/woff2",
}

// served leaves out licences and manifests.
func served(name string) bool { return mimes[path.Ext(name)] != "" }

// load reads a file after those that it refers to, because its hash covers
// their hashed names.
func (in index) load(name string) *asset {
	if a, ok := in.byName[name]; ok {
		if a == nil {
			panic("static: files refer to each other in a circle at " + name)
		}
		return a
	}
	in.byName[name] = nil
	body, err := content.ReadFile(name)
	if err != nil {
		panic("static: " + err.Error())
	}
	if !strings.HasPrefix(name, "vendor/") {
		body = in.link(name, body)
	}
	sum := sha256.Sum256(body)
	ext := path.Ext(name)
	a := &asset{
		url:    Prefix + strings.TrimSuffix(name, ext) + "-" + hex.EncodeToString(sum[:4]) + ext,
		mime:   mimes[ext],
		body:   body,
		packed: pack(ext, body),
	}
	in.byName[name], in.byURL[a.url] = a, a
	return a
}

// reference is url("../fonts/x.woff2") in CSS, and from "./x.js" and new URL("./x.js" in modules.
var reference = regexp.MustCompile(`(url\(["']?|from\s*["']|import\s*["']|new URL\(["'])(\.{1,2}/[^"')]+)`)

// link replaces relative references by hashed addresses.
func (in index) link(name string, body []byte) []byte {
	if ext := path.Ext(name); ext != ".css" && ext != ".js" {
		return body
	}
	return reference.ReplaceAllFunc(body, func(m []byte) []byte {
		parts := reference.FindSubmatch(m)
		target := in.load(path.Join(path.Dir(name), string(parts[2])))
		return append(bytes.Clone(parts[1]), target.url...)
	})
}

// pack compresses text once, so that serving costs nothing.
func pack(ext string, body []byte) []byte {
	if ext == ".woff2" {
		return nil
	}
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		panic("static: " + err.Error())
	}
	if _, err := z.Write(body); err != nil {
		panic("static: " + err.Error())
	}
	if err := z.Close(); err != nil {
		panic("static: " + err.Error())
	}
	if buf.Len() >= len(body) {
		return nil
	}
	return buf.Bytes()
}
