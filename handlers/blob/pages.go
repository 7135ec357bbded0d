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
	return []web.Route{web.GetLong("/blobs/:blob", tenancy.ReadBoard, p.download),
		web.GetLong("/blobs/:blob/view", tenancy.ReadBoard, p.view)}
}

// open returns the blob that the address names.
func (p *Pages) open(c echo.Context, who tenancy.Principal) (*blobs.Reader, error) {
	sum, err := blobs.ParseSum(c.Param("blob"))
	if err != nil {
		return nil, err
	}
	return p.Blobs.Open(c.Request().Context(), who, sum)
}

// download answers with a blob as a file that has its SHA-256 for a name.
func (p *Pages) download(c echo.Context, who tenancy.Principal) error {
	content, err := p.open(c, who)
	if err != nil {
		return err
	}
	return blobparts.Send(c, content, content.Sum.String(), echo.MIMEOctetStream)
}

// view answers with a blob to be looked at in the browser: a picture by what it is, and a text as plain text, in
// which nothing runs. What is neither is a download.
func (p *Pages) view(c echo.Context, who tenancy.Principal) error {
	content, err := p.open(c, who)
	if err != nil {
		return err
	}
	kind, err := findKind(content)
	if err != nil {
		return err
	}
	if kind == "" {
		return blobparts.Send(c, content, content.Sum.String(), echo.MIMEOctetStream)
	}
	c.Response().Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	return blobparts.Show(c, content, kind)
}
