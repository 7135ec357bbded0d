package settings

import (
	"github.com/fleetboard/fleetboard/views/layout"
	"github.com/fleetboard/fleetboard/views/ui"
)

// MembersPage is who is in the workspace, and who was invited.
type MembersPage struct {
	Shell     layout.Shell
	Members   []Member
	CanManage bool
	// Link is the invitation that was just made; it is shown this once.
	Link    *InvitationLink
	Invite  InviteForm // for those who manage
	Pending []PendingInvitation
	Rights  RightsTable
	Own     OwnMembership
}

// Member is one row.
type Member struct {
	Key     string // in the ids of its dialog and its field
	Name    string
	Email   string
	Role    string // "admin"
	Since   ui.When
	You     bool
	RoleURL string      // "" where the role cannot be changed here
	Roles   []ui.Option // with RoleURL
	Remove  *ui.Action  // nil where it cannot be done

	Disabled bool
	// Disable and EndSessions are nil, EnableURL is "", where they cannot be done.
	Disable, EndSessions *ui.Action
	EnableURL            string
}

// InviteForm makes an invitation.
type InviteForm struct {
	Email  string
	Roles  []ui.Option
	Errors map[string]string // by field: email, role
	Error  string
}

// InvitationLink is shown once.
type InvitationLink struct {
	URL   string
	Email string
	Role  string
	Until ui.When
}

// PendingInvitation is a link that nobody used yet.
type PendingInvitation struct {
	Email   string
	Role    string
	Hint    string
	By      string
	At      ui.When
	Until   ui.When
	Expired bool
	Revoke  string // "" where only an owner may
}

// RightsTable says what each role may do.
type RightsTable struct {
	Roles []string // heads: "Owner"
	Rows  []RightsRow
}

// RightsRow is one right; Has follows RightsTable.Roles.
type RightsRow struct {
	Text string
	Has  []bool
}

// OwnMembership is what a member may do about himself.
type OwnMembership struct {
	Role     string
	StepDown *ui.Action // for an owner who is not the last one
	Leave    *ui.Action // nil for the last owner
	Stays    string     // why there is neither
}

// actions returns the actions on a member that have a dialog before them.
func (m Member) actions() []ui.Action {
	var list []ui.Action
	for _, a := range []*ui.Action{m.EndSessions, m.Disable, m.Remove} {
		if a != nil {
			list = append(list, *a)
		}
	}
	return list
}

// still reports that nothing can be done to the member here.
func (m Member) still() bool { return len(m.actions()) == 0 && m.EnableURL == "" }
