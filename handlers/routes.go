package handlers

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"fleetboard/internal/tenancy"
	"fleetboard/static"
	"fleetboard/views/links"
)

// routes is every page, action and fragment, each with the permission it needs.
func (s *Server) routes() []Route {
	return slices.Concat(s.doorRoutes(), s.workRoutes(), s.settingsRoutes(), s.serverRoutes())
}

// doorRoutes are what people meet before they are logged in. The way to the
// identity provider is a link and not a form: the content security policy lets no
// form lead to another site.
func (s *Server) doorRoutes() []Route {
	return []Route{
		{http.MethodGet, links.Home, tenancy.Public, s.home},
		{http.MethodGet, links.Login, tenancy.Public, s.loginForm},
		{http.MethodPost, links.Login, tenancy.Public, s.login},
		{http.MethodPost, links.Logout, tenancy.Public, s.logout},
		{http.MethodGet, "/setup/:token", tenancy.Public, s.setupForm},
		{http.MethodPost, "/setup/:token", tenancy.Public, s.setup},
		{http.MethodPost, links.Theme, tenancy.Public, s.setTheme},
		{http.MethodGet, links.LoginCode, tenancy.Public, s.loginCodeForm},
		{http.MethodPost, links.LoginCode, tenancy.Public, s.loginCode},
		{http.MethodGet, links.IdentityStart, tenancy.Public, s.identityStart},
		{http.MethodGet, links.IdentityCallback, tenancy.Public, s.identityCallback},
		{http.MethodGet, links.IdentityAccept, tenancy.Public, s.identityJoinShow},
		{http.MethodPost, links.IdentityAccept, tenancy.Public, s.identityJoinAccept},
		{http.MethodGet, "/invitations/:token", tenancy.Public, s.invitationShow},
		{http.MethodPost, "/invitations/:token", tenancy.Public, s.invitationAccept},
	}
}

// workRoutes are jobs, reviews, agents and what happened.
func (s *Server) workRoutes() []Route {
	return []Route{
		{http.MethodGet, links.Board, tenancy.ReadBoard, s.boardShow},
		{http.MethodGet, links.Board + "/column/:column", tenancy.ReadBoard, s.boardColumn},
		{http.MethodGet, "/live", tenancy.ReadBoard, s.live(&streamLimit{})},
		{http.MethodGet, links.Palette, tenancy.ReadBoard, s.paletteShow},

		{http.MethodGet, links.NewJob, tenancy.WriteJobs, s.newJobShow},
		{http.MethodPost, links.Jobs, tenancy.WriteJobs, s.newJobCreate},
		{http.MethodGet, links.Routing, tenancy.WriteJobs, s.newJobRoutability},
		{http.MethodPost, links.Preview, tenancy.WriteJobs, s.newJobPreview},
		{http.MethodGet, links.JobSearch, tenancy.ReadBoard, s.jobSearch},

		{http.MethodGet, "/jobs/:key", tenancy.ReadBoard, s.jobShow},
		{http.MethodGet, "/jobs/:key/panel", tenancy.ReadBoard, s.jobPanel},
		{http.MethodGet, "/jobs/:key/log", tenancy.ReadBoard, s.jobLogShow},
		{http.MethodGet, "/jobs/:key/log/stream", tenancy.ReadBoard, s.jobLogLive(&streamLimit{})},
		{http.MethodGet, "/jobs/:key/attempts", tenancy.ReadBoard, s.attemptsShow},
		{http.MethodPost, "/jobs/:key/move", tenancy.WriteJobs, s.jobMove},
		{http.MethodPost, "/jobs/:key/tick", tenancy.WriteJobs, s.jobTick},
		{http.MethodPost, "/jobs/:key/link", tenancy.WriteJobs, s.jobLink},
		{http.MethodPost, "/jobs/:key/unlink", tenancy.WriteJobs, s.jobUnlink},
		{http.MethodGet, "/jobs/:key/linkable", tenancy.ReadBoard, s.jobLinkable},
		{http.MethodPost, "/jobs/:key/delete", tenancy.Manage, s.jobDelete},
		{http.MethodPost, "/jobs/:key/:action", tenancy.WriteJobs, s.jobAct},

		{http.MethodGet, links.Review, tenancy.ReadBoard, s.reviewShow},
		{http.MethodPost, "/review/:key/:action", tenancy.WriteJobs, s.reviewAct},

		{http.MethodGet, links.Agents, tenancy.ReadBoard, s.agentsShow},
		{http.MethodGet, links.AgentPanel, tenancy.ReadBoard, s.agentsPanel},
		{http.MethodPost, "/factories/:name/drain", tenancy.RunFleet, s.factoryDrain},
		{http.MethodPost, "/factories/:name/undrain", tenancy.RunFleet, s.factoryUndrain},
		{http.MethodPost, "/agents/:name/terminate", tenancy.RunFleet, s.agentTerminate},
		{http.MethodPost, "/agents/:name/cut-off", tenancy.RunFleet, s.agentCutOff},

		{http.MethodGet, links.Timeline, tenancy.ReadBoard, s.timelineShow},
		{http.MethodGet, links.Status, tenancy.ReadBoard, s.statusShow},
		{http.MethodPost, links.Recover, tenancy.RunFleet, s.statusRecover},
	}
}

// settingsRoutes are the own account and the workspace's settings, in the order of
// their tabs.
func (s *Server) settingsRoutes() []Route {
	return []Route{
		{http.MethodGet, links.Settings, tenancy.SignedIn, s.settingsHome},
		{http.MethodGet, links.Account, tenancy.SignedIn, s.accountShow},
		{http.MethodPost, links.Account, tenancy.SignedIn, s.accountRename},
		{http.MethodPost, links.Password, tenancy.SignedIn, s.accountPassword},
		{http.MethodGet, links.SecondFactor, tenancy.SignedIn, s.factorShow},
		{http.MethodPost, links.SecondFactor, tenancy.SignedIn, s.factorBegin},
		{http.MethodPost, links.ConfirmFactor, tenancy.SignedIn, s.factorConfirm},
		{http.MethodPost, links.DropFactor, tenancy.SignedIn, s.factorDrop},
		{http.MethodPost, links.RecoveryCodes, tenancy.SignedIn, s.recoveryCodes},
		{http.MethodPost, links.EndOthers, tenancy.SignedIn, s.sessionsEndOthers},
		{http.MethodPost, links.EndAll, tenancy.SignedIn, s.sessionsEndAll},
		{http.MethodPost, links.Account + "/sessions/:session/end", tenancy.SignedIn, s.sessionEnd},
		{http.MethodPost, links.Account + "/logins/:login/mine", tenancy.SignedIn, s.logInMine},
		{http.MethodPost, links.Account + "/logins/:login/not-mine", tenancy.SignedIn, s.logInNotMine},
		{http.MethodGet, links.IdentityLink, tenancy.SignedIn, s.identityLinkStart},
		{http.MethodGet, links.ProveStart, tenancy.SignedIn, s.proveStart},
		{http.MethodGet, links.IdentityConfirm, tenancy.SignedIn, s.identityConfirm},
		{http.MethodPost, links.IdentityLink, tenancy.SignedIn, s.identityLink},
		{http.MethodPost, links.IdentityUnlink, tenancy.SignedIn, s.identityUnlink},

		{http.MethodGet, links.Workspace, tenancy.ReadBoard, s.workspaceShow},
		{http.MethodPost, links.Workspace, tenancy.Own, s.workspaceRename},
		{http.MethodPost, links.Workspaces, tenancy.Manage, s.workspaceCreate},
		{http.MethodPost, links.SwitchWorkspace, tenancy.SignedIn, s.workspaceSwitch},

		{http.MethodGet, links.Members, tenancy.ReadBoard, s.membersShow},
		{http.MethodPost, links.Members + "/:account/role", tenancy.Manage, s.memberRole},
		{http.MethodPost, links.Members + "/:account/remove", tenancy.Manage, s.memberRemove},
		{http.MethodPost, links.Members + "/:account/disable", tenancy.Own, s.memberDisable},
		{http.MethodPost, links.Members + "/:account/enable", tenancy.Own, s.memberEnable},
		{http.MethodPost, links.Members + "/:account/end-sessions", tenancy.Own, s.memberEndSessions},
		{http.MethodPost, links.RequireFactor, tenancy.Own, s.workspaceFactor},
		{http.MethodPost, links.StepDown, tenancy.Own, s.memberStepDown},
		{http.MethodPost, links.Leave, tenancy.SignedIn, s.memberLeave},
		{http.MethodPost, links.Invitations, tenancy.Manage, s.invitationMake},
		{http.MethodPost, links.Invitations + "/:invitation/revoke", tenancy.Manage, s.invitationRevoke},

		{http.MethodGet, links.Products, tenancy.ReadBoard, s.productsShow},
		{http.MethodPost, links.Products, tenancy.Manage, s.productCreate},
		{http.MethodGet, links.NewProduct, tenancy.Manage, s.productNew},
		{http.MethodGet, "/settings/products/:product", tenancy.Manage, s.productShow},
		{http.MethodPost, "/settings/products/:product", tenancy.Manage, s.productUpdate},
		{http.MethodPost, "/settings/products/:product/pause", tenancy.Manage, s.productPause},
		{http.MethodPost, "/settings/products/:product/resume", tenancy.Manage, s.productResume},
		{http.MethodPost, "/settings/products/:product/delete", tenancy.Manage, s.productDelete},

		{http.MethodGet, links.Tokens, tenancy.SignedIn, s.tokensShow},
		{http.MethodPost, links.Tokens, tenancy.SignedIn, s.tokenIssue},
		{http.MethodGet, links.NewTokenPath, tenancy.SignedIn, s.tokenNew},
		{http.MethodPost, links.Tokens + "/:id/revoke", tenancy.SignedIn, s.tokenRevoke},
		{http.MethodGet, links.Connect, tenancy.SignedIn, s.connectShow},
		{http.MethodPost, links.Connect, tenancy.RunFleet, s.connectIssue},

		{http.MethodGet, links.Secrets, tenancy.Manage, s.secretsShow},
		{http.MethodPost, links.RenewSecrets, tenancy.Own, s.secretsRenew},
		{http.MethodGet, links.Audit, tenancy.Manage, s.auditShow},
	}
}

// serverRoutes are files, and what machines ask about the server itself.
func (s *Server) serverRoutes() []Route {
	return []Route{
		{http.MethodGet, static.Prefix + "*", tenancy.Public, s.static},
		{http.MethodGet, "/healthz", tenancy.Public, s.healthz},
		{http.MethodGet, "/readyz", tenancy.Public, s.readyz},
		{http.MethodGet, "/health/coordinator", tenancy.Public, s.healthOfCoordinator},
		{http.MethodPost, cspReportPath, tenancy.Public, s.cspReport},
	}
}

func (s *Server) home(c echo.Context, _ tenancy.Principal) error {
	return seeOther(c, links.Board)
}

// settingsHome is the first page of the settings.
func (s *Server) settingsHome(c echo.Context, _ tenancy.Principal) error {
	return seeOther(c, links.Account)
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
			c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(unknownTime))
			return c.String(http.StatusServiceUnavailable, "not ready\n")
		}
	}
	return c.String(http.StatusOK, "ready\n")
}
