package review

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/blobs"
	"fleetboard/internal/tenancy"
	"fleetboard/views/links"
)

const (
	// patchPart is how many bytes are sent at a time, patchPartTime how long a reader may
	// take for them.
	patchPart     = 256 << 10
	patchPartTime = 30 * time.Second
)

// patchOf is the blob with the whole patch that a result names, if it does.
func patchOf(result json.RawMessage) (sum blobs.Sum, named bool) {
	sum, err := blobs.ParseSum(objectOf(result).text([]string{"patch_blob"}))
	return sum, err == nil
}

// patchURL is where the whole patch of a job is, "" where there is none.
func patchURL(key string, result json.RawMessage) string {
	if _, named := patchOf(result); !named {
		return ""
	}
	return links.ReviewPatch(key)
}

// downloadPatch is the whole patch of a job's result as a file. One that was damaged ends
// before its length.
func (p *Pages) downloadPatch(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	job, err := p.Jobs.Get(ctx, who, c.Param("key"))
	if err != nil {
		return err
	}
	sum, _ := patchOf(job.Result) // no blob has the name of nothing
	patch, err := p.Blobs.Open(ctx, who, sum)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/plain; charset=utf-8")
	h.Set(echo.HeaderContentDisposition, `attachment; filename="`+web.FileName(job.Key)+`.patch"`)
	h.Set(echo.HeaderContentLength, strconv.FormatInt(patch.Size, 10))
	h.Set(echo.HeaderCacheControl, "no-store")
	c.Response().WriteHeader(http.StatusOK)
	control := http.NewResponseController(c.Response())
	for err == nil {
		_ = control.SetWriteDeadline(time.Now().Add(patchPartTime))
		_, err = io.CopyN(c.Response(), patch, patchPart)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return patch.Err() // otherwise the reader left
}
