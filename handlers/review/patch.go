package review

import (
	"github.com/labstack/echo/v4"

	blobparts "github.com/fleetboard/fleetboard/handlers/parts/blob"
	jobparts "github.com/fleetboard/fleetboard/handlers/parts/job"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// downloadPatch answers with the whole patch of a job's result as a file. One that was damaged ends
// before its length.
func (s site) downloadPatch(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	job, err := s.Jobs.Get(ctx, who, c.Param("key"))
	if err != nil {
		return err
	}
	sum, _ := jobparts.FindPatch(job.Result) // no blob has the name of nothing
	patch, err := s.Blobs.Open(ctx, who, sum)
	if err != nil {
		return err
	}
	return blobparts.Send(c, patch, web.FileName(job.Key)+".patch", "text/plain; charset=utf-8")
}
