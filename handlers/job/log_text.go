package job

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/joblog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/ui"
)

// partTime is how long a reader may take for a part of a file.
const partTime = 30 * time.Second

// downloadLog answers with a job's log as a text file, the oldest line first: the page's filter
// by level and attempt counts. It is read and sent part by part, whatever its length.
func (p *Pages) downloadLog(c echo.Context, who tenancy.Principal) error {
	ctx := c.Request().Context()
	job, err := p.Jobs.Get(ctx, who, c.Param("key"))
	if err != nil {
		return err
	}
	v := parseLogView(c)
	v.Text, v.Before, v.Line = "", 0, 0
	lines, err := p.linesAfter(ctx, who, job.ID, 0, toLogFilter(v))
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/plain; charset=utf-8")
	h.Set(echo.HeaderContentDisposition, `attachment; filename="`+web.FileName(job.Key)+`.log.txt"`)
	h.Set(echo.HeaderCacheControl, "no-store")
	c.Response().WriteHeader(http.StatusOK)
	out, control := bufio.NewWriter(c.Response()), http.NewResponseController(c.Response())
	for {
		for _, l := range lines {
			writeLine(out, l)
		}
		if err := out.Flush(); err != nil || len(lines) < logPage {
			return nil //nolint:nilerr // the reader left
		}
		_ = control.SetWriteDeadline(time.Now().Add(partTime))
		if lines, err = p.linesAfter(ctx, who, job.ID, lines[len(lines)-1].ID, toLogFilter(v)); err != nil {
			_, _ = out.WriteString("The file ends here, because the server could not read on. The log is longer.\n")
			_ = out.Flush()
			return err
		}
	}
}

// linesAfter reads the next part of a log, in a turn of its own.
func (p *Pages) linesAfter(ctx context.Context, who tenancy.Principal, job ids.ID, after int64, f joblog.Filter) ([]joblog.Line, error) {
	turn, err := p.Turns.Await(ctx, who)
	if err != nil {
		return nil, err
	}
	defer turn.End()
	return p.JobLogs.LogsAfter(ctx, who, job, after, f)
}

// writeLine writes a line with the time in UTC; the further lines of its message are
// set in.
func writeLine(out *bufio.Writer, l joblog.Line) {
	text := l.Message
	if l.Event != "" {
		text = l.Event + " " + text
	}
	if details := strings.TrimSpace(string(l.Details)); details != "" && details != "{}" {
		text += " " + details
	}
	text = strings.ReplaceAll(ui.CleanLines(text), "\n", "\n    ")
	fmt.Fprintf(out, "%s %-8s %s e%d  %s\n", l.ReceivedAt.UTC().Format("2006-01-02T15:04:05.000Z"), l.Level,
		ui.Clean(l.Agent), l.Epoch, text)
}
