// Package blob lets people download what pages name: payloads of messages, results and
// checkpoints that are blobs.
package blob

import (
	"github.com/labstack/echo/v4"

	blobparts "github.com/fleetboard/fleetboard/handlers/parts/blob"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Pages answers the requests of downloads.
type Pages struct{ *web.Site }

// New returns the downloads.
func New(s *web.Site) *Pages { return &Pages{s} }

// Routes returns the downloads, with the permission that they need.
func (p *Pages) Routes() []web.Route {
	return []web.Route{web.GetLong("/blobs/:blob", tenancy.ReadBoard, p.download)}
}

// download answers with a blob as a file that has its SHA-256 for a name.
func (p *Pages) download(c echo.Context, who tenancy.Principal) error {
	sum, err := blobs.ParseSum(c.Param("blob"))
	if err != nil {
		return err
	}
	content, err := p.Blobs.Open(c.Request().Context(), who, sum)
	if err != nil {
		return err
	}
	return blobparts.Send(c, content, sum.String(), echo.MIMEOctetStream)
}
