package accounts

import (
	"fleetboard/internal/accounts/devices"
	"fleetboard/internal/accounts/identities"
	"fleetboard/internal/accounts/login"
	"fleetboard/internal/accounts/members"
	"fleetboard/internal/accounts/oidc"
	"fleetboard/internal/accounts/people"
	"fleetboard/internal/accounts/sessions"
	"fleetboard/internal/accounts/setup"
	"fleetboard/internal/accounts/tokens"
	"fleetboard/internal/accounts/twofactor"
	"fleetboard/internal/accounts/workspaces"
)

// Types of the parts, for callers that name several of them.
//
//nolint:revive // the parts say what each type is
type (
	Account           = people.Account
	Profile           = people.Profile
	Session           = sessions.Session
	Origin            = devices.Origin
	LoggedIn          = login.LoggedIn
	LogInNews         = login.LogInNews
	PasswordChange    = login.PasswordChange
	SecondFactor      = twofactor.SecondFactor
	Identity          = identities.Identity
	Provider          = oidc.Provider
	ProviderConfig    = oidc.Config
	Flow              = oidc.Flow
	Claims            = oidc.Claims
	Member            = members.Member
	Invitation        = members.Invitation
	PendingInvitation = members.PendingInvitation
	Joined            = members.Joined
	Workspace         = workspaces.Workspace
	WorkspaceFacts    = workspaces.Facts
	Token             = tokens.Token
	NewToken          = tokens.NewToken
	TokenState        = tokens.State
	BootstrapInput    = setup.BootstrapInput
	Bootstrap         = setup.Bootstrap
)

// The values of a session; see the package sessions.
const (
	SessionAccount   = sessions.Account
	SessionAddress   = sessions.Address
	SessionUserAgent = sessions.UserAgent
	SessionEpoch     = sessions.Epoch
	SessionHalf      = sessions.Half
	SessionProven    = sessions.Proven
	SessionWorkspace = sessions.Workspace
	ProofLife        = sessions.ProofLife
	DeviceLife       = devices.Life
)

// The states of a token.
const (
	TokenLive    = tokens.Live
	TokenExpired = tokens.Expired
	TokenRevoked = tokens.Revoked
)
