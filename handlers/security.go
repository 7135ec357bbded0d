package handlers

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const cspReportPath = "/csp-report"

// contentPolicy lets a page load only our own files. Nothing inline runs.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; " +
	"frame-ancestors 'none'; report-uri " + cspReportPath + "; report-to csp"

// pageHeaders say what a page may load, in place of the nothing that other answers
// may.
func pageHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("Reporting-Endpoints", `csp="`+cspReportPath+`"`)
		h.Set("Referrer-Policy", "same-origin")
		return next(c)
	}
}

const (
	// reportsPerMinute bounds what unknown callers can write into the log.
	reportsPerMinute = 20
	maxReport        = 16 << 10
	maxReportField   = 200
)

// reportLimit counts the reports of the running minute.
type reportLimit struct {
	mu    sync.Mutex
	since time.Time
	count int
}

func (l *reportLimit) take(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= time.Minute {
		l.since, l.count = now, 0
	}
	l.count++
	return l.count <= reportsPerMinute
}

// violation is a breach of the policy in the words of either kind of report.
type violation struct {
	Directive  string `json:"violated-directive"`
	Directive3 string `json:"effectiveDirective"`
	Blocked    string `json:"blocked-uri"`
	Blocked3   string `json:"blockedURL"`
	Document   string `json:"document-uri"`
	Document3  string `json:"documentURL"`
}

// cspReport notes what a browser refused to load: a defect of a page, or
// somebody's attempt.
func (s *Server) cspReport(c echo.Context, _ tenancy.Principal) error {
	if !s.csp.take(time.Now()) {
		return c.NoContent(http.StatusNoContent)
	}
	body, err := io.ReadAll(io.LimitReader(c.Request().Body, maxReport))
	if err != nil {
		return c.NoContent(http.StatusNoContent)
	}
	for _, v := range violations(body) {
		s.Log.WarnContext(c.Request().Context(), "content security policy report",
			"request_id", web.RequestID(c),
			"directive", short(v.Directive+v.Directive3),
			"blocked", withoutQuery(v.Blocked+v.Blocked3),
			"page", withoutQuery(v.Document+v.Document3))
	}
	return c.NoContent(http.StatusNoContent)
}

// violations reads a report-uri body or a report-to list; nothing from others.
func violations(body []byte) []violation {
	var old struct {
		Report *violation `json:"csp-report"`
	}
	if json.Unmarshal(body, &old) == nil && old.Report != nil {
		return []violation{*old.Report}
	}
	var list []struct {
		Type string    `json:"type"`
		Body violation `json:"body"`
	}
	if json.Unmarshal(body, &list) != nil {
		return nil
	}
	var out []violation
	for _, r := range list {
		if r.Type == "csp-violation" && len(out) < reportsPerMinute {
			out = append(out, r.Body)
		}
	}
	return out
}

// withoutQuery keeps secrets in queries and in links out of the log.
func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.RawQuery, u.Fragment, u.User = "", "", nil
	for _, secret := range []string{"/setup/", "/invitations/"} {
		if strings.HasPrefix(u.Path, secret) {
			u.Path, u.RawPath = secret, ""
		}
	}
	return short(u.String())
}

func short(text string) string {
	if len(text) > maxReportField {
		return strings.ToValidUTF8(text[:maxReportField], "")
	}
	return text
}
