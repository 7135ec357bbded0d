// Package members holds who belongs to a workspace, and invitations to it. Owners
// and admins (Manage) invite, change roles and remove; only owners (Own) do so to
// owners, disable and enable members and end their sessions. Members change under
// one lock, and one of them is always an enabled owner.
//
// An invitation's link makes its holder a member, with an account that is there
// or with a new one:
//
//	open -> used      by Accept, JoinAsNew or identities.JoinAs, once
//	open -> revoked   by RevokeInvitation, by a newer link for the same e-mail, or
//	                  with the role of who gave it
//	open -> expired   after a week
package members
