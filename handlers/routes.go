package handlers

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"fleetboard/handlers/web"
	"fleetboard/internal/tenancy"
	"fleetboard/static"
	"fleetboard/views/links"
)

// routes is every page, action and fragment, each with the permission it needs.
func (s *Server) routes() []web.Route {
	return slices.Concat(s.doorRoutes(), s.workRoutes(), s.settingsRoutes(), s.serverRoutes())
}

// doorRoutes are what people meet before they are logged in. The way to the
// identity provider is a link and not a form: the content security policy lets no
// form lead to another site.
func (s *Server) doorRoutes() []web.Route {
	return []web.Route{
		web.Get(links.Home, tenancy.Public, s.home),
		web.Get(links.Login, tenancy.Public, s.loginForm),
		web.Post(links.Login, tenancy.Public, s.login),
		web.Post(links.Logout, tenancy.Public, s.logout),
		web.Get("/setup/:token", tenancy.Public, s.setupForm),
		web.Post("/setup/:token", tenancy.Public, s.setup),
		web.Post(links.Theme, tenancy.Public, s.setTheme),
		web.Get(links.LoginCode, tenancy.Public, s.loginCodeForm),
		web.Post(links.LoginCode, tenancy.Public, s.loginCode),
		web.Get(links.IdentityStart, tenancy.Public, s.identityStart),
		web.Get(links.IdentityCallback, tenancy.Public, s.identityCallback),
		web.Get(links.IdentityAccept, tenancy.Public, s.identityJoinShow),
		web.Post(links.IdentityAccept, tenancy.Public, s.identityJoinAccept),
		web.Get("/invitations/:token", tenancy.Public, s.invitationShow),
		web.Post("/invitations/:token", tenancy.Public, s.invitationAccept),
	}
}

// workRoutes are jobs, reviews, agents and what happened.
func (s *Server) workRoutes() []web.Route {
	return []web.Route{
		web.Get(links.Board, tenancy.ReadBoard, s.boardShow),
		web.Get(links.Board+"/column/:column", tenancy.ReadBoard, s.boardColumn),
		web.Get("/live", tenancy.ReadBoard, s.live(&streamLimit{})),
		web.Get(links.Palette, tenancy.ReadBoard, s.paletteShow),

		web.Get(links.NewJob, tenancy.WriteJobs, s.newJobShow),
		web.Post(links.Jobs, tenancy.WriteJobs, s.newJobCreate),
		web.Get(links.Routing, tenancy.WriteJobs, s.newJobRoutability),
		web.Post(links.Preview, tenancy.WriteJobs, s.newJobPreview),
		web.Get(links.JobSearch, tenancy.ReadBoard, s.jobSearch),

		web.Get("/jobs/:key", tenancy.ReadBoard, s.jobShow),
		web.Get("/jobs/:key/panel", tenancy.ReadBoard, s.jobPanel),
		web.Get("/jobs/:key/log", tenancy.ReadBoard, s.jobLogShow),
		web.Get("/jobs/:key/log/stream", tenancy.ReadBoard, s.jobLogLive(&streamLimit{})),
		web.Get("/jobs/:key/attempts", tenancy.ReadBoard, s.attemptsShow),
		web.Post("/jobs/:key/move", tenancy.WriteJobs, s.jobMove),
		web.Post("/jobs/:key/tick", tenancy.WriteJobs, s.jobTick),
		web.Post("/jobs/:key/link", tenancy.WriteJobs, s.jobLink),
		web.Post("/jobs/:key/unlink", tenancy.WriteJobs, s.jobUnlink),
		web.Get("/jobs/:key/linkable", tenancy.ReadBoard, s.jobLinkable),
		web.Post("/jobs/:key/delete", tenancy.Manage, s.jobDelete),
		web.Post("/jobs/:key/:action", tenancy.WriteJobs, s.jobAct),

		web.Get(links.Review, tenancy.ReadBoard, s.reviewShow),
		web.Post("/review/:key/:action", tenancy.WriteJobs, s.reviewAct),

		web.Get(links.Agents, tenancy.ReadBoard, s.agentsShow),
		web.Get(links.AgentPanel, tenancy.ReadBoard, s.agentsPanel),
		web.Post("/factories/:name/drain", tenancy.RunFleet, s.factoryDrain),
		web.Post("/factories/:name/undrain", tenancy.RunFleet, s.factoryUndrain),
		web.Post("/agents/:name/terminate", tenancy.RunFleet, s.agentTerminate),
		web.Post("/agents/:name/cut-off", tenancy.RunFleet, s.agentCutOff),

		web.Get(links.Timeline, tenancy.ReadBoard, s.timelineShow),
		web.Get(links.Status, tenancy.ReadBoard, s.statusShow),
		web.Post(links.Recover, tenancy.RunFleet, s.statusRecover),
	}
}

// settingsRoutes are the own account and the workspace's settings, in the order of
// their tabs.
func (s *Server) settingsRoutes() []web.Route {
	return []web.Route{
		web.Get(links.Settings, tenancy.SignedIn, s.settingsHome),
		web.Get(links.Account, tenancy.SignedIn, s.accountShow),
		web.Post(links.Account, tenancy.SignedIn, s.accountRename),
		web.Post(links.Password, tenancy.SignedIn, s.accountPassword),
		web.Get(links.SecondFactor, tenancy.SignedIn, s.factorShow),
		web.Post(links.SecondFactor, tenancy.SignedIn, s.factorBegin),
		web.Post(links.ConfirmFactor, tenancy.SignedIn, s.factorConfirm),
		web.Post(links.DropFactor, tenancy.SignedIn, s.factorDrop),
		web.Post(links.RecoveryCodes, tenancy.SignedIn, s.recoveryCodes),
		web.Post(links.EndOthers, tenancy.SignedIn, s.sessionsEndOthers),
		web.Post(links.EndAll, tenancy.SignedIn, s.sessionsEndAll),
		web.Post(links.Account+"/sessions/:session/end", tenancy.SignedIn, s.sessionEnd),
		web.Post(links.Account+"/logins/:login/mine", tenancy.SignedIn, s.logInMine),
		web.Post(links.Account+"/logins/:login/not-mine", tenancy.SignedIn, s.logInNotMine),
		web.Get(links.IdentityLink, tenancy.SignedIn, s.identityLinkStart),
		web.Get(links.ProveStart, tenancy.SignedIn, s.proveStart),
		web.Get(links.IdentityConfirm, tenancy.SignedIn, s.identityConfirm),
		web.Post(links.IdentityLink, tenancy.SignedIn, s.identityLink),
		web.Post(links.IdentityUnlink, tenancy.SignedIn, s.identityUnlink),

		web.Get(links.Workspace, tenancy.ReadBoard, s.workspaceShow),
		web.Post(links.Workspace, tenancy.Own, s.workspaceRename),
		web.Post(links.Workspaces, tenancy.Manage, s.workspaceCreate),
		web.Post(links.SwitchWorkspace, tenancy.SignedIn, s.workspaceSwitch),

		web.Get(links.Members, tenancy.ReadBoard, s.membersShow),
		web.Post(links.Members+"/:account/role", tenancy.Manage, s.memberRole),
		web.Post(links.Members+"/:account/remove", tenancy.Manage, s.memberRemove),
		web.Post(links.Members+"/:account/disable", tenancy.Own, s.memberDisable),
		web.Post(links.Members+"/:account/enable", tenancy.Own, s.memberEnable),
		web.Post(links.Members+"/:account/end-sessions", tenancy.Own, s.memberEndSessions),
		web.Post(links.RequireFactor, tenancy.Own, s.workspaceFactor),
		web.Post(links.StepDown, tenancy.Own, s.memberStepDown),
		web.Post(links.Leave, tenancy.SignedIn, s.memberLeave),
		web.Post(links.Invitations, tenancy.Manage, s.invitationMake),
		web.Post(links.Invitations+"/:invitation/revoke", tenancy.Manage, s.invitationRevoke),

		web.Get(links.Products, tenancy.ReadBoard, s.productsShow),
		web.Post(links.Products, tenancy.Manage, s.productCreate),
		web.Get(links.NewProduct, tenancy.Manage, s.productNew),
		web.Get("/settings/products/:product", tenancy.Manage, s.productShow),
		web.Post("/settings/products/:product", tenancy.Manage, s.productUpdate),
		web.Post("/settings/products/:product/pause", tenancy.Manage, s.productPause),
		web.Post("/settings/products/:product/resume", tenancy.Manage, s.productResume),
		web.Post("/settings/products/:product/delete", tenancy.Manage, s.productDelete),

		web.Get(links.Tokens, tenancy.SignedIn, s.tokensShow),
		web.Post(links.Tokens, tenancy.SignedIn, s.tokenIssue),
		web.Get(links.NewTokenPath, tenancy.SignedIn, s.tokenNew),
		web.Post(links.Tokens+"/:id/revoke", tenancy.SignedIn, s.tokenRevoke),
		web.Get(links.Connect, tenancy.SignedIn, s.connectShow),
		web.Post(links.Connect, tenancy.RunFleet, s.connectIssue),

		web.Get(links.Secrets, tenancy.Manage, s.secretsShow),
		web.Post(links.RenewSecrets, tenancy.Own, s.secretsRenew),
		web.Get(links.Audit, tenancy.Manage, s.auditShow),
	}
}

// serverRoutes are files, and what machines ask about the server itself.
func (s *Server) serverRoutes() []web.Route {
	return []web.Route{
		web.Get(static.Prefix+"*", tenancy.Public, s.static),
		web.Get("/healthz", tenancy.Public, s.healthz),
		web.Get("/readyz", tenancy.Public, s.readyz),
		web.Get("/health/coordinator", tenancy.Public, s.healthOfCoordinator),
		web.Post(cspReportPath, tenancy.Public, s.cspReport),
	}
}

func (s *Server) home(c echo.Context, _ tenancy.Principal) error {
	return web.SeeOther(c, links.Board)
}

// settingsHome is the first page of the settings.
func (s *Server) settingsHome(c echo.Context, _ tenancy.Principal) error {
	return web.SeeOther(c, links.Account)
}

func (s *Server) static(c echo.Context, _ tenancy.Principal) error {
	static.Handler().ServeHTTP(c.Response(), c.Request())
	return nil
}

// healthz says that the process runs; readyz that it can do its work.
func (s *Server) healthz(c echo.Context, _ tenancy.Principal) error {
	return c.String(http.StatusOK, "ok\n")
}

func (s *Server) readyz(c echo.Context, _ tenancy.Principal) error {
	if s.Ready != nil {
		if err := s.Ready(c.Request().Context()); err != nil {
			s.Log.WarnContext(c.Request().Context(), "not ready", "error", err)
			c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(web.UnknownTime))
			return c.String(http.StatusServiceUnavailable, "not ready\n")
		}
	}
	return c.String(http.StatusOK, "ready\n")
}
