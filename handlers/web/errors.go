package web

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/links"
	"github.com/fleetboard/fleetboard/views/ui"
)

// HandleError answers a request that failed: with a toast for htmx, else with a page; without
// credentials it redirects to the log in. Only a refusal's own message is shown; causes of
// internal errors are logged here, once.
func (s *Site) HandleError(err error, c echo.Context) {
	f := s.toFault(err, c)
	s.logFailure(err, f, c)
	if c.Response().Committed {
		return
	}
	if err := s.answer(c, f); err != nil && !c.Response().Committed {
		if errors.Is(err, context.Canceled) {
			return // the reader is gone
		}
		s.Log.ErrorContext(c.Request().Context(), "error page failed", "request_id", RequestID(c), "error", err)
		_ = c.String(http.StatusInternalServerError, "Something went wrong.\n")
	}
}

// toFault returns the refusal that is shown for an error.
func (s *Site) toFault(err error, c echo.Context) *fault.Error {
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return fault.From(TooLarge(err))
	}
	var he *echo.HTTPError
	if errors.As(err, &he) {
		return routerFault(he)
	}
	if c.Request().Context().Err() != nil && errors.Is(err, context.Canceled) {
		return fault.Wrap(err, fault.Unavailable, "The request was broken off.")
	}
	return fault.From(err)
}

// routerFault returns the refusal for an error of the router.
func routerFault(he *echo.HTTPError) *fault.Error {
	switch he.Code {
	case http.StatusNotFound:
		return fault.New(fault.NotFound, "There is no page at this address.")
	case http.StatusMethodNotAllowed:
		return fault.New(fault.MethodNotAllowed, "This address does not take that kind of request.")
	case http.StatusRequestEntityTooLarge:
		return fault.From(TooLarge(he))
	case http.StatusBadRequest:
		return fault.Wrap(he, fault.Malformed, "The request could not be read.")
	default:
		return fault.From(he)
	}
}

// logFailure logs errors that the person cannot correct. Refusals are in the access log.
func (s *Site) logFailure(err error, f *fault.Error, c echo.Context) {
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
		slog.String("request_id", RequestID(c)),
		slog.String("method", c.Request().Method),
		slog.String("route", c.Path()),
		slog.String("error", err.Error()),
	}
	var p PanicError
	if errors.As(err, &p) {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	s.Log.LogAttrs(context.WithoutCancel(c.Request().Context()), level, "request failed", attrs...)
}

func (s *Site) answer(c echo.Context, f *fault.Error) error {
	status := status.Of(f.Code)
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(RetryAfter(f)))
	}
	switch {
	case f.Code == fault.Unauthenticated:
		return s.redirectToLogin(c, status)
	case c.Request().Method == http.MethodHead:
		return c.NoContent(status)
	case IsHX(c):
		return ShowToast(c, status, toToast(f, RequestID(c)))
	case !WantsPage(c):
		text := f.Message + "\n"
		for _, r := range refusals(f) {
			text += r.Field + ": " + r.Why + "\n"
		}
		return c.String(status, text)
	default:
		return Render(c, status, layout.ErrorView(s.errorPage(c, f, status)))
	}
}

// redirectToLogin sends a browser to the log in, and back afterwards. A request that is no
// navigation only gets the status.
func (s *Site) redirectToLogin(c echo.Context, status int) error {
	r := c.Request()
	switch {
	case IsHX(c):
		c.Response().Header().Set("HX-Redirect", links.LoginNext(CurrentPath(r)))
		return c.NoContent(status)
	case !WantsPage(c):
		return c.String(status, "Log in to go on.\n")
	case r.Method == http.MethodGet:
		return c.Redirect(http.StatusSeeOther, LoginFor(r.URL.RequestURI()))
	default:
		return c.Redirect(http.StatusSeeOther, links.Login)
	}
}

// LoginFor returns the address of the log in that leads back to a path. Without one it leads to the
// board.
func LoginFor(path string) string {
	if next := SafeNext(path); next != links.Board {
		return links.LoginNext(next)
	}
	return links.Login
}

// CurrentPath returns the page that htmx calls from, "" where it is not one of ours.
func CurrentPath(r *http.Request) string {
	u, err := url.Parse(r.Header.Get("HX-Current-URL"))
	if err != nil || u.Host != r.Host {
		return ""
	}
	return SafeNext(u.RequestURI())
}

// WantsPage reports whether the client accepts HTML.
func WantsPage(c echo.Context) bool {
	return strings.Contains(c.Request().Header.Get(echo.HeaderAccept), echo.MIMETextHTML)
}

func (s *Site) errorPage(c echo.Context, f *fault.Error, status int) layout.ErrorPage {
	page := layout.ErrorPage{
		Theme:     ReadTheme(c),
		Code:      status,
		Title:     f.Code.Title(),
		Message:   f.Message,
		Refusals:  refusals(f),
		RequestID: RequestID(c),
	}
	// Without a database there is no shell, and querying for it again would only keep the
	// reader waiting.
	if who, ok := Principal(c); ok && f.Code != fault.Unavailable {
		page.Shell = s.ErrorShell(c, who)
	}
	return page
}

// maxRefusals is how many refused fields are named where no form is that has them.
const maxRefusals = 10

// refusals returns what is wrong with which field.
func refusals(f *fault.Error) []layout.Refusal {
	names := f.Names()
	list := make([]layout.Refusal, 0, len(names))
	for _, name := range names[:min(len(names), maxRefusals)] {
		list = append(list, layout.Refusal{Field: name, Why: f.Fields[name]})
	}
	return list
}

// ShowToast answers htmx with a toast, wherever the request came from.
func ShowToast(c echo.Context, status int, t ui.Toast) error {
	h := c.Response().Header()
	h.Set("HX-Retarget", "#toasts")
	h.Set("HX-Reswap", "beforeend")
	h.Set("HX-Reselect", "[data-toast]")
	return Render(c, status, ui.ToastBox(t))
}

// toToast returns a refusal as a toast, with the request's id where the log has more about it.
func toToast(f *fault.Error, requestID string) ui.Toast {
	t := ui.Toast{Tone: ui.Bad, Title: f.Code.Title(), Text: f.Message}
	if list := refusals(f); len(list) > 0 {
		t.Text = list[0].Field + ": " + list[0].Why
	}
	if f.Code == fault.Internal || f.Code == fault.Unavailable {
		t.RequestID = requestID
	}
	return t
}
