// Package oidc learns from an OpenID Connect provider who somebody is. It uses the
// authorization code flow with PKCE, and talks to the provider over https only.
package oidc
