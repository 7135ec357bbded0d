package links

import "net/url"

// The log in with the identity provider, and its link to an account.
const (
	IdentityStart    = "/login/oidc"
	IdentityCallback = "/login/oidc/callback"
	// IdentityAccept shows who joins what; its form posts to it: join.
	IdentityAccept  = "/login/oidc/join"
	IdentityLink    = "/settings/account/identity/link"
	IdentityConfirm = "/settings/account/identity/confirm"
	ProveStart      = Account + "/prove"
	IdentityUnlink  = "/settings/account/identity/unlink"
)

// IdentityLogin logs in with the identity provider and goes on to a path of ours.
func IdentityLogin(next string) string {
	v := url.Values{}
	if next != "" && next != Board {
		v.Set("next", next)
	}
	return with(IdentityStart, v)
}

// IdentityJoin accepts the invitation of a token with the identity provider.
func IdentityJoin(token string) string {
	return with(IdentityStart, url.Values{"invitation": {token}})
}

// Prove logs in with the identity provider anew and goes back to a path of ours.
func Prove(next string) string { return with(ProveStart, url.Values{"next": {next}}) }
