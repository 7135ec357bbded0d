package handlers

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/status"
	"fleetboard/internal/fault"
	"fleetboard/views"
	"fleetboard/views/links"
	"fleetboard/views/ui"
)

// unknownTime is Retry-After where a refusal does not say how long.
const unknownTime = 5

// HandleError answers a request that failed: a toast for htmx, a page for the
// rest; without credentials the way to the log in. Only a refusal's own message
// is shown; causes of what is internal are logged here, once.
func (s *Server) HandleError(err error, c echo.Context) {
	f := s.refusal(err, c)
	s.logFailure(err, f, c)
	if c.Response().Committed {
		return
	}
	if fails := s.answer(c, f); fails != nil && !c.Response().Committed {
		if errors.Is(fails, context.Canceled) {
			return // the reader is gone
		}
		s.Log.ErrorContext(c.Request().Context(), "error page failed", "request_id", requestIDOf(c), "error", fails)
		_ = c.String(http.StatusInternalServerError, "Something went wrong.\n")
	}
}

// refusal turns any error into one that may be shown.
func (s *Server) refusal(err error, c echo.Context) *fault.Error {
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return fault.From(tooLarge(err))
	}
	var he *echo.HTTPError
	if errors.As(err, &he) {
		return ofStatus(he)
	}
	if c.Request().Context().Err() != nil && errors.Is(err, context.Canceled) {
		return fault.Wrap(err, fault.Unavailable, "The request was broken off.")
	}
	return fault.From(err)
}

// ofStatus is the refusal behind an error that the router made.
func ofStatus(he *echo.HTTPError) *fault.Error {
	switch he.Code {
	case http.StatusNotFound:
		return fault.New(fault.NotFound, "There is no page at this address.")
	case http.StatusMethodNotAllowed:
		return fault.New(fault.MethodNotAllowed, "This address does not take that kind of request.")
	case http.StatusRequestEntityTooLarge:
		return fault.From(tooLarge(he))
	case http.StatusBadRequest:
		return fault.Wrap(he, fault.Malformed, "The request could not be read.")
	default:
		return fault.From(he)
	}
}

// logFailure writes what a person cannot mend. Refusals are in the access log.
func (s *Server) logFailure(err error, f *fault.Error, c echo.Context) {
	level := slog.LevelError
	switch f.Code {
	case fault.Internal:
	case fault.Unavailable:
		level = slog.LevelWarn
	default:
		return
	}
	if errors.Is(err, context.Canceled) {
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{
		slog.String("request_id", requestIDOf(c)),
		slog.String("method", c.Request().Method),
		slog.String("route", c.Path()),
		slog.String("error", err.Error()),
	}
	var p panicked
	if errors.As(err, &p) {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	s.Log.LogAttrs(context.WithoutCancel(c.Request().Context()), level, "request failed", attrs...)
}

func (s *Server) answer(c echo.Context, f *fault.Error) error {
	status := status.Of(f.Code)
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(retryAfter(f)))
	}
	switch {
	case f.Code == fault.Unauthenticated:
		return s.toLogin(c, status)
	case c.Request().Method == http.MethodHead:
		return c.NoContent(status)
	case isHX(c):
		return showToast(c, status, toastOf(f, requestIDOf(c)))
	case !wantsPage(c):
		return c.String(status, f.Message+"\n")
	default:
		return render(c, status, views.ErrorView(s.errorPage(c, f, status)))
	}
}

// toLogin sends a browser to the log in and back afterwards. What is no
// navigation only gets the status.
func (s *Server) toLogin(c echo.Context, status int) error {
	r := c.Request()
	switch {
	case isHX(c):
		c.Response().Header().Set("HX-Redirect", links.LoginNext(currentPath(r)))
		return c.NoContent(status)
	case !wantsPage(c):
		return c.String(status, "Log in to go on.\n")
	case r.Method == http.MethodGet:
		return c.Redirect(http.StatusSeeOther, loginFor(r.URL.RequestURI()))
	default:
		return c.Redirect(http.StatusSeeOther, links.Login)
	}
}

// loginFor is the log-in page that comes back to a path; the board is where it
// goes anyhow.
func loginFor(path string) string {
	if next := safeNext(path); next != links.Board {
		return links.LoginNext(next)
	}
	return links.Login
}

// currentPath is the page that htmx asks from, "" where it is not one of ours.
func currentPath(r *http.Request) string {
	u, err := url.Parse(r.Header.Get("HX-Current-URL"))
	if err != nil || u.Host != r.Host {
		return ""
	}
	return safeNext(u.RequestURI())
}

// wantsPage reports whether a person looks at the answer.
func wantsPage(c echo.Context) bool {
	return strings.Contains(c.Request().Header.Get(echo.HeaderAccept), echo.MIMETextHTML)
}

func (s *Server) errorPage(c echo.Context, f *fault.Error, status int) views.ErrorPage {
	page := views.ErrorPage{
		Theme:     themeOf(c),
		Code:      status,
		Title:     f.Code.Title(),
		Message:   f.Message,
		RequestID: requestIDOf(c),
	}
	// Without a database there is nothing to put around the message, and asking
	// for it again would only keep the reader waiting.
	if who, ok := whoOf(c); ok && f.Code != fault.Unavailable {
		page.Shell = s.errorShell(c, who)
	}
	return page
}

// showToast answers htmx with a toast, wherever the request came from.
func showToast(c echo.Context, status int, t ui.Toast) error {
	h := c.Response().Header()
	h.Set("HX-Retarget", "#toasts")
	h.Set("HX-Reswap", "beforeend")
	return render(c, status, ui.ToastBox(t))
}

// toastOf is a refusal in two lines; the id helps only where the log knows more.
func toastOf(f *fault.Error, requestID string) ui.Toast {
	t := ui.Toast{Tone: ui.Bad, Title: f.Code.Title(), Text: f.Message}
	if f.Code == fault.Internal || f.Code == fault.Unavailable {
		t.RequestID = requestID
	}
	return t
}

// retryAfter is in seconds.
func retryAfter(f *fault.Error) int {
	if n, ok := f.Details["retry_after"].(int); ok && n > 0 {
		return n
	}
	return unknownTime
}
