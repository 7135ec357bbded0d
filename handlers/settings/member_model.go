package settings

import (
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/accounts/members"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
)

// memberPageData is what the page of members is made of.
type memberPageData struct {
	who     tenancy.Principal
	members []members.Member
	pending []members.PendingInvitation
	invite  inviteForm
	now     time.Time
}

func (s memberPageData) model() view.MembersPage {
	m := view.MembersPage{CanManage: s.who.Can(tenancy.Manage), Rights: rightsModel(), Own: s.own()}
	for _, one := range s.members {
		m.Members = append(m.Members, s.row(one))
	}
	if !m.CanManage {
		return m
	}
	m.Invite = view.InviteForm{Email: s.invite.email, Errors: s.invite.wrong,
		Roles: roleOptions(members.Giveable(s.who), tenancy.Role(choose(s.invite.role != "", s.invite.role, string(tenancy.RoleMember))))}
	if s.invite.link != "" {
		m.Link = &view.InvitationLink{URL: s.invite.link, Email: s.invite.made.Email, Role: web.RoleWord(s.invite.made.Role),
			Until: ui.In(s.invite.made.Expires, s.now)}
		m.Invite.Email = ""
	}
	for _, p := range s.pending {
		m.Pending = append(m.Pending, s.pendingRow(p))
	}
	return m
}

func (s memberPageData) row(one members.Member) view.Member {
	key := one.Account.String()
	gives := members.Giveable(s.who)
	m := view.Member{Key: key, Name: one.Name, Email: one.Email, Role: string(one.Role), Since: ui.Day(one.Since),
		You: one.Account == s.who.Account}
	m.Disabled = one.Disabled
	if m.You || !slices.Contains(gives, one.Role) {
		return m
	}
	if s.who.Can(tenancy.Own) {
		s.control(&m, one)
	}
	if one.Role != tenancy.RoleOwner || s.owners() > 1 {
		m.RoleURL, m.Roles = links.MemberRole(key), roleOptions(gives, one.Role)
		m.Remove = &ui.Action{Verb: "remove-" + key, Label: "Remove", URL: links.MemberRemove(key), Danger: true,
			Dialog: &ui.Dialog{Title: "Remove " + one.Name + "?", Keep: "Keep them", Confirm: "Remove " + one.Name,
				Text: ui.Text("Their tokens and open invitations in this workspace end now, their open pages within seconds. " +
					"What they made stays, and so does their account.")}}
	}
	return m
}

// control is what an owner may do about a member beside the role.
func (s memberPageData) control(m *view.Member, one members.Member) {
	m.EndSessions = &ui.Action{Verb: "end-sessions-" + m.Key, Label: "Log out", URL: links.MemberEndSessions(m.Key), Danger: true,
		Dialog: &ui.Dialog{Title: "Log " + one.Name + " out everywhere?", Keep: "Leave them logged in", Confirm: "Log out",
			Text: ui.Text("All their browsers are logged out, in other workspaces too. They can log in again. Tokens go on.")}}
	if one.Disabled {
		m.EnableURL = links.MemberEnable(m.Key)
		return
	}
	m.Disable = &ui.Action{Verb: "disable-" + m.Key, Label: "Disable", URL: links.MemberDisable(m.Key), Danger: true,
		Dialog: &ui.Dialog{Title: "Disable " + one.Name + " here?", Keep: "Keep them", Confirm: "Disable",
			Text: ui.Text("They see and do nothing in this workspace, and their personal tokens are refused, " +
				"until an owner enables them again. Their open invitations end.")}}
}

func (s memberPageData) pendingRow(p members.PendingInvitation) view.PendingInvitation {
	m := view.PendingInvitation{Email: p.Email, Role: string(p.Role), Hint: p.Hint, By: p.By, At: ui.Day(p.At),
		Until: ui.In(p.Expires, s.now), Expired: p.Expired}
	if slices.Contains(members.Giveable(s.who), p.Role) {
		m.Revoke = links.InvitationRevoke(p.ID.String())
	}
	return m
}

// own returns what the reader may do about himself.
func (s memberPageData) own() view.OwnMembership {
	m := view.OwnMembership{Role: web.RoleWord(s.who.Role)}
	owner := s.who.Role == tenancy.RoleOwner
	if owner && s.owners() == 1 {
		m.Stays = "You are the last owner, so you can neither leave nor step down. Make another member an owner first."
		return m
	}
	if owner {
		m.StepDown = &ui.Action{Verb: "step-down", Label: "Step down to admin", URL: links.StepDown, Danger: true,
			Dialog: &ui.Dialog{Title: "Step down to admin?", Keep: "Stay owner", Confirm: "Step down",
				Text: ui.Text("You go on managing the workspace. Only another owner can make you an owner again.")}}
	}
	m.Leave = &ui.Action{Verb: "leave", Label: "Leave the workspace", URL: links.Leave, Danger: true,
		Dialog: &ui.Dialog{Title: "Leave the workspace?", Keep: "Stay", Confirm: "Leave",
			Text: ui.Text("Your tokens and open invitations in this workspace end now. What you made stays. " +
				"To come back you need an invitation.")}}
	return m
}

func (s memberPageData) owners() int {
	n := 0
	for _, m := range s.members {
		if m.Role == tenancy.RoleOwner && !m.Disabled {
			n++
		}
	}
	return n
}

func roleOptions(roles []tenancy.Role, chosen tenancy.Role) []ui.Option {
	list := make([]ui.Option, len(roles))
	for i, r := range roles {
		list[i] = ui.Option{Value: string(r), Label: web.Capital(string(r)), Selected: r == chosen}
	}
	return list
}

// rights are the permissions of people, in words, from least to most.
var rights = []struct {
	need tenancy.Permission
	text string
}{
	{tenancy.ReadBoard, "See jobs, agents, the timeline, members and products"},
	{tenancy.SignedIn, "Make tokens with the own rights, and leave the workspace"},
	{tenancy.WriteJobs, "Create, edit, move, answer and review jobs"},
	{tenancy.RunFleet, "Drain factories, end agents, take leases back, make enrolment tokens"},
	{tenancy.Manage, "Change products, invite and remove people, give roles up to admin, make another workspace"},
	{tenancy.Own, "Make and unmake owners, log members out and disable them, ask for a second factor, " +
		"rename the workspace, change its encryption key"},
}

func rightsModel() view.RightsTable {
	var t view.RightsTable
	for _, role := range members.Roles {
		t.Roles = append(t.Roles, web.Capital(string(role)))
	}
	for _, r := range rights {
		row := view.RightsRow{Text: r.text}
		for _, role := range members.Roles {
			row.Has = append(row.Has, tenancy.Principal{Kind: tenancy.KindPerson, Role: role}.Can(r.need))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
