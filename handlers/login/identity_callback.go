package login

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/fleetboard/fleetboard/handlers/status"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/login"
	"github.com/fleetboard/fleetboard/internal/accounts/oidc"
	"github.com/fleetboard/fleetboard/internal/accounts/sessions"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/login"
)

// identityCallback is where the provider sends browsers back to.
func (p *identityPages) identityCallback(c echo.Context, _ tenancy.Principal) error {
	if p.Provider == nil {
		return noProvider()
	}
	flow, err := p.takeFlow(c)
	if err != nil {
		return err
	}
	claims, err := p.Provider.Finish(c.Request().Context(), flow.Flow, c.QueryParams())
	if err != nil {
		return p.identityRefused(c, flow, err)
	}
	switch flow.Purpose {
	case toLink:
		return p.identityFound(c, flow, claims)
	case toProve:
		return p.identityProven(c, flow, claims)
	case toJoin:
		return p.identityToJoin(c, flow, claims)
	default:
		return p.identityLoggedIn(c, flow, claims)
	}
}

// identityLoggedIn begins the session of the account that has the identity.
func (p *identityPages) identityLoggedIn(c echo.Context, flow identityFlow, claims oidc.Claims) error {
	in, err := p.Accounts.Identities.LogInAs(c.Request().Context(), claims)
	if fault.Is(err, fault.NotFound) {
		return p.identityDoor(c, http.StatusForbidden, unknownIdentity(p.Provider.Name(), claims.Email, flow.Next))
	}
	if err != nil {
		return err
	}
	if err := p.identitySession(c, in, ""); err != nil {
		return err
	}
	return web.SeeOther(c, web.SafeNext(flow.Next))
}

// identitySession begins a session under a new token, in a workspace where one is
// named. The epoch is that of the moment the identity was looked up: who ended
// all sessions since has ended this one too.
func (p *identityPages) identitySession(c echo.Context, in login.LoggedIn, workspace string) error {
	values := map[string]string{sessions.Account: in.ID.String(), sessions.Epoch: web.EpochText(in.Epoch)}
	if workspace != "" {
		values[sessions.Workspace] = workspace
	}
	if err := p.BeginSession(c, values, 0); err != nil {
		return err
	}
	p.Log.InfoContext(c.Request().Context(), "logged in by the identity provider", "request_id", web.RequestID(c), "account", in.ID)
	return nil
}

// identityFound remembers who somebody is at the provider and asks for confirmation that it
// is to be linked: a log in there may be another person's.
func (p *identityPages) identityFound(c echo.Context, flow identityFlow, claims oidc.Claims) error {
	who, err := p.Person(c)
	if err != nil && !fault.Is(err, fault.Unauthenticated) {
		return err
	}
	if err != nil || who.Account != flow.Account {
		return p.identityRefused(c, flow, fault.New(fault.Malformed,
			"Another person is logged in here than the one who began. Begin again."))
	}
	if err := p.keep(c, keptIdentity, foundIdentity{Claims: claims, Account: who.Account, Key: rand.Text(), At: time.Now()}); err != nil {
		return err
	}
	return web.SeeOther(c, links.IdentityConfirm)
}

// identityRefused shows a refusal with the way to go on. What went wrong behind
// it is logged: the page does not repeat what the provider wrote.
func (p *identityPages) identityRefused(c echo.Context, flow identityFlow, err error) error {
	f := fault.From(err)
	level := slog.LevelWarn
	switch f.Code {
	case fault.Malformed:
		level = slog.LevelInfo
	case fault.Unavailable:
		c.Response().Header().Set(echo.HeaderRetryAfter, strconv.Itoa(web.RetryAfter(f)))
	case fault.Forbidden:
	default:
		return err
	}
	p.Log.Log(c.Request().Context(), level, "log in by the identity provider refused",
		"request_id", web.RequestID(c), "purpose", flow.Purpose, "error", err)
	return p.identityDoor(c, status.Of(f.Code), refusedIdentity(p.Provider.Name(), flow, f, web.RequestID(c)))
}

func (p *identityPages) identityDoor(c echo.Context, status int, m view.IdentityDoor) error {
	m.Theme = web.ReadTheme(c)
	return web.RenderSecret(c, status, view.IdentityDoorView(m))
}
