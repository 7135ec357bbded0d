package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// retryAfter is what Retry-After says where the refusal knows no better, in
// seconds.
const retryAfter = 2

// identify gives the request its id.
func (s *Server) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		if h.Get(echo.HeaderXRequestID) == "" {
			h.Set(echo.HeaderXRequestID, ids.New().String())
		}
		return next(c)
	}
}

// Refuse answers a call that does not get as far as the API.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, refusal error) {
	c := s.echo.NewContext(r, w)
	c.Error(s.identify(func(echo.Context) error { return refusal })(c))
}

// recover turns a panic into an error that is logged and never shown.
func (s *Server) recover(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			r := recover()
			if r == nil {
				return
			}
			if cause, ok := r.(error); ok && errors.Is(cause, http.ErrAbortHandler) {
				panic(r)
			}
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}()
		return next(c)
	}
}

// refuse answers an error with a problem (RFC 9457), the only place where the
// API turns one into HTTP. What is the server's own fault is logged here, once.
func (s *Server) refuse(err error, c echo.Context) {
	refusal := findRefusal(err, c)
	id := c.Response().Header().Get(echo.HeaderXRequestID)
	status := status.Of(refusal.Code)
	if status >= http.StatusInternalServerError && c.Request().Context().Err() == nil {
		s.Log.LogAttrs(c.Request().Context(), logLevel(refusal.Code), "API call failed", slog.String("request_id", id),
			slog.String("method", c.Request().Method), slog.String("route", c.Path()), slog.Any("error", err))
	}
	if c.Response().Committed {
		return
	}
	if refusal.Code == fault.TooMany {
		s.hold(c.Request().Context())
	}
	body, err := json.Marshal(problem(refusal, id))
	if err != nil {
		s.Log.ErrorContext(c.Request().Context(), "problem not encoded", "request_id", id, "error", err)
		c.Response().WriteHeader(http.StatusInternalServerError)
		return
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "application/problem+json")
	switch status {
	case http.StatusUnauthorized:
		// Another edge may have put more parameters of the challenge there.
		h.Set(echo.HeaderWWWAuthenticate, challenge(refusal.Code)+h.Get(echo.HeaderWWWAuthenticate))
	case http.StatusUpgradeRequired:
		h.Set(echo.HeaderUpgrade, clientHeader+"/"+MinClient)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		h.Set(echo.HeaderRetryAfter, strconv.Itoa(retryDelay(refusal)))
	}
	c.Response().WriteHeader(status)
	// The reader may be gone; there is nobody left to answer.
	_, _ = c.Response().Write(body)
}

// pauseRefusal waits as long as the refusal of one that calls too often is held back. Who
// has left gets no answer.
var pauseRefusal = func(ctx context.Context) { _ = signal.Sleep(ctx, 200*time.Millisecond) }

// maxHeldRefusals bounds the refusals that are held back at one moment.
const maxHeldRefusals = 1000

// hold keeps a refusal back for a moment: whoever calls on without the wait that an answer
// named would cost more by its refusals than by what it may have.
func (s *Server) hold(ctx context.Context) {
	if !s.refusals.TryAcquire(1) {
		return
	}
	defer s.refusals.Release(1)
	pauseRefusal(ctx)
}

func logLevel(code fault.Code) slog.Level {
	if code == fault.Unavailable {
		return slog.LevelWarn
	}
	return slog.LevelError
}

// findRefusal finds the refusal in an error: the domain's, or what the router said.
func findRefusal(err error, c echo.Context) *fault.Error {
	var known *fault.Error
	var routed *echo.HTTPError
	switch {
	case errors.As(err, &known):
		return known
	case c.Request().Context().Err() != nil:
		return fault.Wrap(err, fault.Unavailable, "The call was broken off. It can be sent again.")
	case !errors.As(err, &routed):
		return fault.From(err)
	}
	switch routed.Code {
	case http.StatusNotFound:
		return fault.New(fault.NotFound, "There is no such call. GET %s/openapi.yaml lists them.", BasePath)
	case http.StatusMethodNotAllowed:
		return fault.New(fault.MethodNotAllowed, "%s is not allowed here.", c.Request().Method)
	case http.StatusBadRequest:
		return fault.Wrap(err, fault.Malformed, "A parameter could not be read.")
	}
	return fault.From(err)
}

// problem returns the body of a refusal: the members of RFC 9457 and our own, and
// beside them the refusal's details.
func problem(refusal *fault.Error, requestID string) map[string]any {
	p := map[string]any{}
	for name, detail := range refusal.Details {
		switch d := detail.(type) {
		case jobs.Job:
			p[name] = jobModel(d)
		default:
			p[name] = d
		}
	}
	// A problem's status is the answer's; the job's has a name of its own.
	if status, ok := p["status"]; ok {
		p["job_status"] = status
	}
	httpStatus := status.Of(refusal.Code)
	maps.Copy(p, map[string]any{"type": "/problems/" + string(refusal.Code), "title": refusal.Code.Title(), "status": httpStatus,
		"detail": refusal.Message, "code": refusal.Code, "request_id": requestID})
	if len(refusal.Fields) > 0 {
		p["fields"] = refusal.Fields
	}
	if httpStatus == http.StatusTooManyRequests || httpStatus == http.StatusServiceUnavailable {
		p["retry_after"] = retryDelay(refusal)
	}
	return p
}

// retryDelay returns how long to wait before the next try, in seconds.
func retryDelay(refusal *fault.Error) int {
	if seconds, ok := refusal.Details["retry_after"].(int); ok && seconds > 0 {
		return seconds
	}
	return retryAfter
}

func challenge(code fault.Code) string {
	if code == fault.Unauthenticated {
		return `Bearer realm="fleetboard"`
	}
	return `Bearer realm="fleetboard", error="invalid_token"`
}
