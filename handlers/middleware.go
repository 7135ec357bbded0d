package handlers

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
	"github.com/fleetboard/fleetboard/internal/tracing"
	"github.com/fleetboard/fleetboard/views/links"
)

// requestID gives each request a name of ours. One that the client sends is
// not taken: it would let anyone write into the log.
func requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set(echo.HeaderXRequestID, strings.ToLower(rand.Text()[:16]))
		return next(c)
	}
}

// accessLog writes one line for each request: the route's template instead of
// the path, and no query, for both may hold what is secret.
func (s *Server) accessLog(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		tracing.Route(c.Request().Context(), c.Request(), c.Path())
		if err := next(c); err != nil {
			// Writes the answer now, so that its status is known here.
			c.Error(err)
		}
		level := slog.LevelInfo
		if quiet(c.Path()) {
			level = slog.LevelDebug
		}
		s.Log.LogAttrs(context.WithoutCancel(c.Request().Context()), level, "request",
			slog.String("request_id", web.RequestID(c)),
			slog.String("method", c.Request().Method),
			slog.String("route", c.Path()),
			slog.Int("status", c.Response().Status),
			slog.Int64("ms", time.Since(start).Milliseconds()),
			slog.Int64("bytes", c.Response().Size))
		return nil
	}
}

// quiet reports whether a route is one that machines call every few seconds, or a file.
func quiet(route string) bool {
	return route == "/healthz" || route == "/readyz" || route == "/health/coordinator" || strings.HasPrefix(route, "/static/")
}

// recoverPanic turns a panic into an error. http.ErrAbortHandler goes on: it is
// how a handler breaks a connection on purpose.
func recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch value := recover(); value {
			case nil:
			case http.ErrAbortHandler:
				panic(value)
			default:
				err = web.PanicError{Value: value, Stack: debug.Stack()}
			}
		}()
		return next(c)
	}
}

// checkOrigin refuses what another site's page makes a browser send.
func (s *Server) checkOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := s.origin.Check(c.Request()); err != nil {
			return fault.Wrap(err, fault.Forbidden, "This request came from another site, so it was not carried out.")
		}
		return next(c)
	}
}

func limitBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.ContentLength > web.MaxForm {
			return web.TooLarge(nil)
		}
		r.Body = http.MaxBytesReader(c.Response().Writer, r.Body, web.MaxForm)
		return next(c)
	}
}

// guard runs a route for those who may, as often as they may.
func (s *Server) guard(route web.Route) echo.HandlerFunc {
	return func(c echo.Context) error {
		if route.Need == tenancy.Public {
			// Files and health must always answer, and cost next to nothing.
			if err := s.countStranger(c, route.Path); err != nil {
				return err
			}
			return route.Handle(c, tenancy.Principal{})
		}
		c.Response().Header().Add(echo.HeaderVary, "Cookie")
		who, err := s.identify(c)
		if err != nil {
			return err
		}
		web.SetWho(c, who)
		if done, err := s.refuseStale(c, route.Path, who); done || err != nil {
			return err
		}
		if who.NeedsFactor {
			if !openWhileHeld[route.Path] {
				return toFactor(c)
			}
			return route.Handle(c, who)
		}
		if !who.Can(route.Need) {
			return fault.New(fault.Forbidden, "Your role in this workspace does not allow this. Ask an owner.")
		}
		turn, err := s.turn(c, route, who)
		if err != nil {
			return err
		}
		defer turn.End()
		return route.Handle(c, who)
	}
}

// turn returns what a page waits for before it is read, until its answer begins: nobody's slow
// reading holds one.
func (s *Server) turn(c echo.Context, route web.Route, who tenancy.Principal) (*quota.Turn, error) {
	s.Turns.See(who)
	if route.Method != http.MethodGet || route.Long {
		return nil, nil
	}
	turn, err := s.Turns.Take(c.Request().Context(), who)
	c.Response().Before(turn.End)
	return turn, err
}

// countStranger counts a request that needs no credentials by its address. Files
// and health must always answer, and cost next to nothing; whoever is logged in
// can log out whatever others send from the same address.
func (s *Server) countStranger(c echo.Context, route string) error {
	if quiet(route) {
		return nil
	}
	if route == links.Logout {
		ctx, err := s.Sessions.Load(c.Request().Context(), s.SessionToken(c))
		if err != nil {
			return err
		}
		if s.Sessions.Exists(ctx, sessions.Account) || s.Sessions.Exists(ctx, sessions.Half) {
			return nil
		}
	}
	return s.Quota.Address(c.RealIP())
}

// identify returns the caller, unless he calls too often. Whoever is not signed in is
// counted by the address.
func (s *Server) identify(c echo.Context) (tenancy.Principal, error) {
	cookie := s.SessionToken(c)
	if err := s.Quota.Held(cookie); err != nil {
		return tenancy.Principal{}, err
	}
	who, err := s.Person(c)
	switch {
	case fault.Is(err, fault.Unauthenticated):
		return who, cmp.Or(s.Quota.Address(c.RealIP()), err)
	case err != nil:
		return who, err
	}
	return who, s.Quota.Person(who.Account, cookie)
}
