package viewstest

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/login"
	"github.com/fleetboard/fleetboard/views/settings"
	"github.com/fleetboard/fleetboard/views/ui"
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
	action := ui.Action{Verb: "leave", URL: "/settings/members/leave", Label: "Leave", Dialog: &ui.Dialog{Title: hostile, Text: ui.Text(hostile), Keep: "Stay", Confirm: hostile}}
	members := Poisoned(settings.MembersPage{CanManage: true, Link: &settings.InvitationLink{}, Members: []settings.Member{{Roles: []ui.Option{{}}}}, Pending: []settings.PendingInvitation{{}},
		Invite: settings.InviteForm{Roles: []ui.Option{{}}, Errors: errors("email", "role")}, Rights: settings.RightsTable{Roles: []string{""}, Rows: []settings.RightsRow{{Has: []bool{true, false}}}}})
	members.Shell = Shell(layout.SectionSettings, "")
	members.Members[0].Key, members.Members[0].Remove = "1", &action
	members.Own.StepDown, members.Own.Leave = nil, nil
	workspace := Poisoned(settings.WorkspacePage{CanRename: true, CanCreate: true, Errors: errors("name", "new_name")})
	workspace.Shell = Poisoned(Shell(layout.SectionSettings, ""))
	guest := Poisoned(login.InvitationPage{Guest: &login.InvitationGuest{}})
	guest.Guest.Already = ""
	for name, c := range map[string]*goquery.Document{
		"members":    Parsed(t, settings.MembersView(members)),
		"workspace":  Parsed(t, settings.WorkspaceView(workspace)),
		"invitation": Parsed(t, login.InvitationView(Poisoned(login.InvitationPage{Errors: errors("name", "email", "password")}))),
		"guest":      Parsed(t, login.InvitationView(guest)),
		"already":    Parsed(t, login.InvitationView(Poisoned(login.InvitationPage{Guest: &login.InvitationGuest{}}))),
	} {
		t.Run(name, func(t *testing.T) {
			StrictPolicy(t, c)
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
