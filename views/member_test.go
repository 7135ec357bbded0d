package views

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"fleetboard/views/ui"
)

// Names, addresses and roles of the pages of people stay text.
func TestHostileNamesOfPeople(t *testing.T) {
	errors := func(names ...string) map[string]string {
		m := map[string]string{}
		for _, n := range names {
			m[n] = hostile
		}
		return m
	}
	action := Action{Verb: "leave", URL: "/settings/members/leave", Label: "Leave", Dialog: &ActionDialog{Title: hostile, Text: ui.Text(hostile), Keep: "Stay", Confirm: hostile}}
	members := poisoned(MembersPage{CanManage: true, Link: &InvitationLink{}, Members: []Member{{Roles: []ui.Option{{}}}}, Pending: []PendingInvitation{{}},
		Invite: InviteForm{Roles: []ui.Option{{}}, Errors: errors("email", "role")}, Rights: RightsTable{Roles: []string{""}, Rows: []RightsRow{{Has: []bool{true, false}}}}})
	members.Shell = sampleShell(SectionSettings, "")
	members.Members[0].Key, members.Members[0].Remove = "1", &action
	members.Own.StepDown, members.Own.Leave = nil, nil
	workspace := poisoned(WorkspacePage{CanRename: true, CanCreate: true, Errors: errors("name", "new_name")})
	workspace.Shell = poisoned(sampleShell(SectionSettings, ""))
	guest := poisoned(InvitationPage{Guest: &InvitationGuest{}})
	guest.Guest.Already = ""
	for name, c := range map[string]*goquery.Document{
		"members":    parsed(t, MembersView(members)),
		"workspace":  parsed(t, WorkspaceView(workspace)),
		"invitation": parsed(t, InvitationView(poisoned(InvitationPage{Errors: errors("name", "email", "password")}))),
		"guest":      parsed(t, InvitationView(guest)),
		"already":    parsed(t, InvitationView(poisoned(InvitationPage{Guest: &InvitationGuest{}}))),
	} {
		t.Run(name, func(t *testing.T) {
			strictPolicy(t, c)
			if n := c.Find("[data-pwned], img").Length(); n != 0 {
				t.Errorf("%d elements of the hostile text became markup", n)
			}
			c.Find("p, span, a, h1, h2, h3, td, th, dd, b, pre, button, title").Each(func(_ int, el *goquery.Selection) {
				if strings.ContainsAny(el.Text(), "\u202e\x1b") {
					t.Errorf("a control character is shown in <%s>", goquery.NodeName(el))
				}
			})
		})
	}
}
