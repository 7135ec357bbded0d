package review

import (
	"encoding/json"

	"github.com/labstack/echo/v4"

	blobparts "github.com/fleetboard/fleetboard/handlers/parts/blob"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// findPatch returns the blob with the whole patch that a result names, if it does.
func findPatch(result json.RawMessage) (sum blobs.Sum, named bool) {
	var said struct {
		Blob string `json:"patch_blob"`
	}
	if json.Unmarshal(result, &said) != nil {
		return sum, false
	}
	sum, err := blobs.ParseSum(said.Blob)
	return sum, err == nil
}

// patchURL is where the whole patch of a job is, "" where there is none.
func patchURL(key string, result json.RawMessage) string {
	if _, named := findPatch(result); !named {
		return ""
	}
	return links.ReviewPatch(key)
}

// downloadPatch answers with the whole patch of a job's result as a file. One that was damaged ends
// before its length.
func (s site) downloadPatch(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	job, err := s.Jobs.Get(ctx, who, c.Param("key"))
	if err != nil {
		return err
	}
	sum, _ := findPatch(job.Result) // no blob has the name of nothing
	patch, err := s.Blobs.Open(ctx, who, sum)
	if err != nil {
		return err
	}
	return blobparts.Send(c, patch, web.FileName(job.Key)+".patch", "text/plain; charset=utf-8")
}
