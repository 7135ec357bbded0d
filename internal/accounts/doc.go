// Package accounts joins what is known of people, machines and browsers. Every
// answer to "who is asking?" is a tenancy.Principal. Each part is a package, and
// imports go down this list only:
//
//	setup       first start, set-up links
//	tokens      access tokens, agents' tokens, revocations
//	workspaces  workspaces and who is in which
//	identities  links to OpenID Connect providers
//	twofactor   codes and recovery codes
//	members     members, roles, invitations
//	login       passwords at log-in, changes of passwords, new log-ins
//	throttle    waits after failed attempts
//	devices     known browsers
//	oidc        the client of a provider
//	sessions    browser sessions
//	people      accounts, names, e-mails
//	passwords   hashes and rules of passwords
//	secrets     random secrets and their hashes
//
// Reading the database gives nothing to log in with: passwords are stored as
// argon2id, everything random (session, access token, link) as its SHA-256.
package accounts
