// Package settings is the settings: the own account, workspaces, members,
// products, dispatch, tokens, webhooks, encryption keys and the audit.
package settings

import (
	"slices"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
)

// Pages answers the requests of the pages.
type Pages struct{ *web.Site }

// New returns the pages.
func New(s *web.Site) *Pages { return &Pages{s} }

// Routes returns the pages and actions, each with the permission it needs.
func (p *Pages) Routes() []web.Route {
	return slices.Concat((&accountPages{p}).routes(), (&notificationPages{p}).routes(), (&workspacePages{p}).routes(),
		(&memberPages{p}).routes(),
		(&productPages{p}).routes(), (&dispatchPages{p}).routes(), (&tokenPages{p}).routes(), (&webhookPages{p}).routes(),
		(&recordPages{p}).routes())
}

// accountPages are the own account: name, password, second factor, sessions and log ins.
type accountPages struct{ *Pages }

func (p *accountPages) routes() []web.Route {
	return []web.Route{
		web.Get(links.Account, tenancy.SignedIn, p.accountShow),
		web.Post(links.Account, tenancy.SignedIn, p.accountRename),
		web.Post(links.Password, tenancy.SignedIn, p.accountPassword),
		web.Get(links.SecondFactor, tenancy.SignedIn, p.factorShow),
		web.Post(links.SecondFactor, tenancy.SignedIn, p.factorBegin),
		web.Post(links.ConfirmFactor, tenancy.SignedIn, p.factorConfirm),
		web.Post(links.DropFactor, tenancy.SignedIn, p.factorDrop),
		web.Post(links.RecoveryCodes, tenancy.SignedIn, p.recoveryCodes),
		web.Post(links.EndOthers, tenancy.SignedIn, p.sessionsEndOthers),
		web.Post(links.EndAll, tenancy.SignedIn, p.sessionsEndAll),
		web.Post(links.Account+"/sessions/:session/end", tenancy.SignedIn, p.sessionEnd),
		web.Post(links.Account+"/logins/:login/mine", tenancy.SignedIn, p.logInMine),
		web.Post(links.Account+"/logins/:login/not-mine", tenancy.SignedIn, p.logInNotMine),
	}
}

// workspacePages are the workspaces of a person.
type workspacePages struct{ *Pages }

func (p *workspacePages) routes() []web.Route {
	return []web.Route{
		web.Get(links.Workspace, tenancy.ReadBoard, p.workspaceShow),
		web.Post(links.Workspace, tenancy.Own, p.workspaceRename),
		web.Post(links.Workspaces, tenancy.Manage, p.workspaceCreate),
		web.Post(links.SwitchWorkspace, tenancy.SignedIn, p.workspaceSwitch),
	}
}

// memberPages are members and invitations of a workspace.
type memberPages struct{ *Pages }

func (p *memberPages) routes() []web.Route {
	return []web.Route{
		web.Get(links.Members, tenancy.ReadBoard, p.membersShow),
		web.Post(links.Members+"/:account/role", tenancy.Manage, p.memberRole),
		web.Post(links.Members+"/:account/remove", tenancy.Manage, p.memberRemove),
		web.Post(links.Members+"/:account/disable", tenancy.Own, p.memberDisable),
		web.Post(links.Members+"/:account/enable", tenancy.Own, p.memberEnable),
		web.Post(links.Members+"/:account/end-sessions", tenancy.Own, p.memberEndSessions),
		web.Post(links.RequireFactor, tenancy.Own, p.workspaceFactor),
		web.Post(links.StepDown, tenancy.Own, p.memberStepDown),
		web.Post(links.Leave, tenancy.SignedIn, p.memberLeave),
		web.Post(links.Invitations, tenancy.Manage, p.invitationMake),
		web.Post(links.Invitations+"/:invitation/revoke", tenancy.Manage, p.invitationRevoke),
	}
}

// productPages are the products of a workspace.
type productPages struct{ *Pages }

func (p *productPages) routes() []web.Route {
	return []web.Route{
		web.Get(links.Products, tenancy.ReadBoard, p.productsShow),
		web.Post(links.Products, tenancy.Manage, p.productCreate),
		web.Get(links.NewProduct, tenancy.Manage, p.productNew),
		web.Get("/settings/products/:product", tenancy.Manage, p.productShow),
		web.Post("/settings/products/:product", tenancy.Manage, p.productUpdate),
		web.Post("/settings/products/:product/pause", tenancy.Manage, p.productPause),
		web.Post("/settings/products/:product/resume", tenancy.Manage, p.productResume),
		web.Post("/settings/products/:product/delete", tenancy.Manage, p.productDelete),
	}
}

// dispatchPages are how jobs are given out.
type dispatchPages struct{ *Pages }

func (p *dispatchPages) routes() []web.Route {
	return []web.Route{
		web.Get(links.Dispatch, tenancy.Manage, p.dispatchShow),
		web.Post(links.Dispatch, tenancy.Manage, p.dispatchChange),
		web.Get(links.Divergence, tenancy.Manage, p.divergenceShow),
	}
}

// tokenPages are tokens, and the page that connects an agent with one.
type tokenPages struct{ *Pages }

func (p *tokenPages) routes() []web.Route {
	return []web.Route{
		web.Get(links.Tokens, tenancy.SignedIn, p.tokensShow),
		web.Post(links.Tokens, tenancy.SignedIn, p.tokenIssue),
		web.Get(links.NewTokenPath, tenancy.SignedIn, p.tokenNew),
		web.Post(links.Tokens+"/:id/revoke", tenancy.SignedIn, p.tokenRevoke),
		web.Post(links.Issuers, tenancy.RunFleet, p.issuerTrust),
		web.Post(links.Issuers+"/:issuer/remove", tenancy.RunFleet, p.issuerRemove),
		web.Get(links.Connect, tenancy.SignedIn, p.connectShow),
		web.Post(links.Connect, tenancy.RunFleet, p.connectIssue),
	}
}

// webhookPages are the webhooks and their deliveries.
type webhookPages struct{ *Pages }

func (p *webhookPages) routes() []web.Route {
	return []web.Route{
		web.Get(links.Webhooks, tenancy.Manage, p.webhooksShow),
		web.Post(links.Webhooks, tenancy.Manage, p.webhookCreate),
		web.Get(links.NewWebhook, tenancy.Manage, p.webhookNew),
		web.Get(links.Webhooks+"/:webhook", tenancy.Manage, p.webhookShow),
		web.Post(links.Webhooks+"/:webhook", tenancy.Manage, p.webhookSave),
		web.Get(links.Webhooks+"/:webhook/edit", tenancy.Manage, p.webhookEdit),
		web.Post(links.Webhooks+"/:webhook/pause", tenancy.Manage, p.webhookPause),
		web.Post(links.Webhooks+"/:webhook/enable", tenancy.Manage, p.webhookEnable),
		web.Post(links.Webhooks+"/:webhook/rotate", tenancy.Manage, p.webhookRotate),
		web.Post(links.Webhooks+"/:webhook/test", tenancy.Manage, p.webhookTest),
		web.Post(links.Webhooks+"/:webhook/delete", tenancy.Manage, p.webhookDelete),
		web.Post(links.Webhooks+"/:webhook/deliveries/:delivery/redeliver", tenancy.Manage, p.webhookRedeliver),
	}
}

// recordPages are the encryption keys and the audit.
type recordPages struct{ *Pages }

func (p *recordPages) routes() []web.Route {
	return []web.Route{
		web.Get(links.Secrets, tenancy.Manage, p.secretsShow),
		web.Post(links.RenewSecrets, tenancy.Own, p.secretsRenew),
		web.Get(links.Audit, tenancy.Manage, p.auditShow),
	}
}
