// Package blob is what several pages do with blobs: send one as a file, and say how
// large one is.
package blob

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/internal/blobs"
)

const (
	// part is how many bytes are sent at a time, partTime how long a reader may take for
	// them.
	part     = 256 << 10
	partTime = 30 * time.Second
)

// Send answers with a blob as a file of a name and a media type. One that was damaged ends
// before its length.
func Send(c echo.Context, content *blobs.Reader, name, kind string) error {
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	return Show(c, content, kind)
}

// Show answers with a blob to be looked at, as a media type.
func Show(c echo.Context, content *blobs.Reader, kind string) (err error) {
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, kind)
	h.Set(echo.HeaderContentLength, strconv.FormatInt(content.Size, 10))
	h.Set(echo.HeaderCacheControl, "no-store")
	c.Response().WriteHeader(http.StatusOK)
	control := http.NewResponseController(c.Response())
	for err == nil {
		_ = control.SetWriteDeadline(time.Now().Add(partTime))
		_, err = io.CopyN(c.Response(), content, part)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return content.Err() // otherwise the reader left
}

// SizeText says how many bytes there are.
func SizeText(bytes int64) string {
	switch {
	case bytes < 1<<10:
		return strconv.FormatInt(bytes, 10) + " bytes"
	case bytes < 1<<20:
		return strconv.FormatInt((bytes+1<<10-1)>>10, 10) + " KB"
	}
	return strconv.FormatFloat(float64(bytes)/(1<<20), 'f', 1, 64) + " MB"
}
