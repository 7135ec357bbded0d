// Package identities links accounts to what people are at an OpenID Connect
// provider. An identity is issuer and subject, linked to at most one account; an
// account has at most one at each provider. A person links and unlinks the own
// one, which is never the last way in.
package identities
