// Package secrets makes and reads the secrets that are handed out as text: access
// tokens, set-up links and invitations. The database holds their SHA-256 only.
package secrets
