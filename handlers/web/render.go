package web

import (
	"bytes"
	"net/http"
	"sync"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
)

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Render shows a component. It is made completely before the first byte goes
// out, so an error in the middle is an error page and not half a page.
func Render(c echo.Context, status int, component templ.Component) error {
	buf := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(buf)
	buf.Reset()
	if err := component.Render(c.Request().Context(), buf); err != nil {
		return err
	}
	// A page and its fragment have one address.
	c.Response().Header().Add(echo.HeaderVary, "HX-Request")
	return c.HTMLBlob(status, buf.Bytes())
}

// IsHX reports whether the request is htmx's, for a fragment.
func IsHX(c echo.Context) bool { return c.Request().Header.Get("HX-Request") == "true" }

// SeeOther sends the browser on to a path of ours with GET. htmx gets a
// header, because fetch would follow a redirect unseen.
func SeeOther(c echo.Context, path string) error {
	if IsHX(c) {
		c.Response().Header().Set("HX-Redirect", path)
		return c.NoContent(http.StatusNoContent)
	}
	return c.Redirect(http.StatusSeeOther, path)
}
