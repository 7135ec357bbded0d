package links

import "net/url"

// Actions of the page of members.
const (
	// Invitations takes email and role.
	Invitations = Members + "/invitations"
	// RequireFactor takes required, 1 or nothing.
	RequireFactor = Workspace + "/second-factor"
	// Leave takes nothing.
	Leave = Members + "/leave"
	// StepDown makes an owner an admin; it takes nothing.
	StepDown = Members + "/step-down"
)

// MemberRole takes role.
func MemberRole(account string) string { return Members + "/" + url.PathEscape(account) + "/role" }

// MemberRemove takes nothing.
func MemberRemove(account string) string { return Members + "/" + url.PathEscape(account) + "/remove" }

// InvitationRevoke takes nothing.
func InvitationRevoke(id string) string { return Invitations + "/" + url.PathEscape(id) + "/revoke" }

// Invitation returns the page of an invitation's link. Its form posts to it: as, or
// name, email and password.
func Invitation(token string) string { return "/invitations/" + url.PathEscape(token) }

// MemberDisable takes nothing.
func MemberDisable(account string) string {
	return Members + "/" + url.PathEscape(account) + "/disable"
}

// MemberEnable takes nothing.
func MemberEnable(account string) string { return Members + "/" + url.PathEscape(account) + "/enable" }

// MemberEndSessions takes nothing.
func MemberEndSessions(account string) string {
	return Members + "/" + url.PathEscape(account) + "/end-sessions"
}
