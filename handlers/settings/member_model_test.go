package settings

import (
	"testing"

	"github.com/fleetboard/fleetboard/handlers/login"
	"github.com/fleetboard/fleetboard/internal/accounts/members"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Each permission of people is explained.
func TestTheTableOfRightsIsWhole(t *testing.T) {
	explained := map[tenancy.Permission]bool{}
	for _, r := range rights {
		explained[r.need] = true
	}
	for _, need := range []tenancy.Permission{tenancy.SignedIn, tenancy.ReadBoard, tenancy.WriteJobs, tenancy.RunFleet, tenancy.Manage, tenancy.Own} {
		if !explained[need] {
			t.Errorf("%s is not in the table", need)
		}
	}
	for _, role := range members.Roles {
		if login.RoleMay[role] == "" {
			t.Errorf("an invitation does not say what %s may", role)
		}
	}
}
