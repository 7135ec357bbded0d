// Package reference answers with the reference of the API, made from its description. Everybody may
// read it, also without a token.
package reference

import (
	"net/http"
	"slices"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/reference"
)

// Routes returns the pages of the reference.
func Routes() []web.Route {
	return []web.Route{
		web.Get(links.APIReference, tenancy.Public, index),
		web.Get(links.APIReference+"/:group", tenancy.Public, group),
		web.Get(links.APIReference+"/types/:name", tenancy.Public, schema),
	}
}

// pages are read from the description once: that takes a tenth of a second.
var pages = sync.OnceValue(readPages)

func index(c echo.Context, _ tenancy.Principal) error {
	return web.Render(c, http.StatusOK, view.IndexView(web.ReadTheme(c), pages().index))
}

func group(c echo.Context, _ tenancy.Principal) error {
	list := pages().index.Groups
	i := slices.IndexFunc(list, func(g view.Group) bool { return g.Name == c.Param("group") })
	if i < 0 {
		return fault.New(fault.NotFound, "There is no such part of the API.")
	}
	return web.Render(c, http.StatusOK, view.GroupView(web.ReadTheme(c), list[i]))
}

func schema(c echo.Context, _ tenancy.Principal) error {
	found, ok := pages().schemas[c.Param("name")]
	if !ok {
		return fault.New(fault.NotFound, "There is no such type.")
	}
	return web.Render(c, http.StatusOK, view.SchemaView(web.ReadTheme(c), found))
}
