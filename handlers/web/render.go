package web

import (
	"bytes"
	"net/http"
	"sync"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/views/layout"
)

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Render answers with a component. It is rendered completely before the first byte is sent, so
// that an error gives an error page and not half a page.
func Render(c echo.Context, status int, component templ.Component) error {
	return render(c, status, component, AcceptsGzip(c.Request()))
}

// RenderSecret is Render for a page with a secret in it. It is never compressed, so that its
// length tells nothing of the secret.
func RenderSecret(c echo.Context, status int, component templ.Component) error {
	return render(c, status, component, false)
}

// RenderLive is Render for a page with a stream, which brings what changed since the page was made:
// going back to it, a browser shows the page that it has. One that says something once, as a toast,
// is not kept. Vary: Cookie, which the guard sets, has the browser ask again after a log-out.
func RenderLive(c echo.Context, status int, shell layout.Shell, page templ.Component) error {
	if status == http.StatusOK && shell.LiveURL != "" && len(shell.Toasts) == 0 && !IsHX(c) {
		c.Response().Header().Set(echo.HeaderCacheControl, "private, no-cache")
	}
	return Render(c, status, page)
}

func render(c echo.Context, status int, component templ.Component, compressed bool) error {
	buf := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buf)
	buf.Reset()
	if err := component.Render(c.Request().Context(), buf); err != nil {
		return err
	}
	h := c.Response().Header()
	// A page and its fragment have one address.
	for _, name := range []string{"HX-Request", echo.HeaderAcceptEncoding, "Sec-Fetch-Site"} {
		h.Add(echo.HeaderVary, name)
	}
	if !compressed || buf.Len() < leastPacked {
		return c.HTMLBlob(status, buf.Bytes())
	}
	packed := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(packed)
	packed.Reset()
	if err := pack(packed, buf.Bytes()); err != nil {
		return err
	}
	h.Set(echo.HeaderContentEncoding, "gzip")
	return c.HTMLBlob(status, packed.Bytes())
}

// IsHX reports whether the request is htmx's, for a fragment.
func IsHX(c echo.Context) bool { return c.Request().Header.Get("HX-Request") == "true" }

// SeeOther redirects the browser to a path of this site. htmx gets a header instead, because
// fetch would follow a redirect itself.
func SeeOther(c echo.Context, path string) error {
	if IsHX(c) {
		c.Response().Header().Set("HX-Redirect", path)
		return c.NoContent(http.StatusNoContent)
	}
	return c.Redirect(http.StatusSeeOther, path)
}
