package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Handler answers one request of somebody whom the guard let in. It returns errors
// and never writes them.
type Handler = func(c echo.Context, who tenancy.Principal) error

// Route is one page or action, and the permission it needs.
type Route struct {
	Method, Path string
	// Need is checked before Handle runs. With Public it runs with the zero Principal, and the
	// session is not read.
	Need   tenancy.Permission
	Handle Handler
	// Long is set for answers that take long, such as a stream or a download: they take no turn.
	Long bool
}

// Get returns a route that changes nothing.
func Get(path string, need tenancy.Permission, handle Handler) Route {
	return Route{Method: http.MethodGet, Path: path, Need: need, Handle: handle}
}

// GetLong returns a route that changes nothing, and whose answer takes long.
func GetLong(path string, need tenancy.Permission, handle Handler) Route {
	return Route{Method: http.MethodGet, Path: path, Need: need, Handle: handle, Long: true}
}

// Post returns a route that may change something.
func Post(path string, need tenancy.Permission, handle Handler) Route {
	return Route{Method: http.MethodPost, Path: path, Need: need, Handle: handle}
}
