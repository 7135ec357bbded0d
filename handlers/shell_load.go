package handlers

import (
	"context"
	"net/url"

	"github.com/labstack/echo/v4"

	"fleetboard/internal/fleet"
	"fleetboard/internal/tenancy"
	"fleetboard/views"
	"fleetboard/views/links"
)

// page makes the shell of a page, with the toast that waits for it and the
// number of jobs to review.
func (s *Server) page(c echo.Context, who tenancy.Principal, snap fleet.Snapshot, section views.Section, title string) (views.Shell, error) {
	name, err := s.workspaceName(c.Request().Context(), who)
	if err != nil {
		return views.Shell{}, err
	}
	reviews, err := s.Kanban.ReviewCount(c.Request().Context(), who)
	if err != nil {
		return views.Shell{}, err
	}
	shell := frame{who: who, workspace: name, snap: snap, theme: themeOf(c), path: c.Request().URL.RequestURI()}.model()
	shell.Section, shell.Title, shell.Toasts = section, title, s.takeFlash(c)
	shell.Review = reviewNumber(reviews)
	return shell, nil
}

func (s *Server) workspaceName(ctx context.Context, who tenancy.Principal) (string, error) {
	list, err := s.Accounts.Workspaces(ctx, who.Account)
	if err != nil {
		return "", err
	}
	for _, w := range list {
		if w.ID == who.Workspace {
			return w.Name, nil
		}
	}
	return "", notSignedIn()
}

// errorShell is the shell of an error page, nil where even that cannot be read.
func (s *Server) errorShell(c echo.Context, who tenancy.Principal) *views.Shell {
	snap, err := s.Fleet.Snapshot(c.Request().Context(), who)
	if err != nil {
		return nil
	}
	shell, err := s.page(c, who, snap, "", "Not shown")
	if err != nil {
		return nil
	}
	shell.Path = links.Board // where the theme's form may come back to
	return &shell
}

// backTo is the page of ours that a form was sent from, or the fallback.
func backTo(c echo.Context, fallback string) string {
	u, err := url.Parse(c.Request().Referer())
	if err != nil || u.Host == "" || u.Host != c.Request().Host {
		return fallback
	}
	return safeNext(u.RequestURI())
}

// serverURL is the address that the reader reached us by.
func (s *Server) serverURL(c echo.Context) string {
	if s.Secure {
		return "https://" + c.Request().Host
	}
	return "http://" + c.Request().Host
}

// firstRun says how to connect a factory, and which one is there.
func (s *Server) firstRun(c echo.Context, who tenancy.Principal, snap fleet.Snapshot) views.FirstRun {
	return firstRunModel(s.serverURL(c), s.EnrolmentTokenFile, who.Can(tenancy.WriteJobs), snap)
}

func firstRunModel(server, tokenFile string, canWrite bool, snap fleet.Snapshot) views.FirstRun {
	m := views.FirstRun{Server: server, TokenFile: tokenFile, CanWrite: canWrite}
	for _, f := range snap.Factories {
		for _, a := range f.Agents {
			if m.Factory == "" && a.Health != fleet.Dead {
				m.Factory, m.Agent = f.Name, a.Name
			}
		}
	}
	return m
}
