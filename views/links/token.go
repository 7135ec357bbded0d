package links

import "net/url"

// NewToken returns the form of a token of a kind: person or enrolment.
func NewToken(kind string) string { return Tokens + "/new?" + url.Values{"kind": {kind}}.Encode() }

// NewTokenPath is the path of NewToken.
const NewTokenPath = Tokens + "/new"

// TokenRevoke takes cut_off=1, of an enrolment token.
func TokenRevoke(id string) string { return Tokens + "/" + url.PathEscape(id) + "/revoke" }

// CutOff ends an agent and its tokens; it takes reason.
func CutOff(agent string) string { return "/agents/" + url.PathEscape(agent) + "/cut-off" }

// Issuers are the issuers whose tokens register agents.
const Issuers = "/settings/issuers"

// IssuerRemove trusts one no longer.
func IssuerRemove(name string) string { return Issuers + "/" + url.PathEscape(name) + "/remove" }
