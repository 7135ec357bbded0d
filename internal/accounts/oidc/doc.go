// Package oidc asks an OpenID Connect provider who somebody is. It uses the
// authorization code flow with PKCE, and talks to the provider over https only.
package oidc
