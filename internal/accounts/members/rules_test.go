package members

import (
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"testing"
)

// The table of who may give which role to whom, and take whom out.
func TestWhoMayChangeWhom(t *testing.T) {
	owner, admin, member, viewer := tenancy.RoleOwner, tenancy.RoleAdmin, tenancy.RoleMember, tenancy.RoleViewer
	list := members{}
	account := map[tenancy.Role][2]ids.ID{}
	for _, r := range Roles {
		account[r] = [2]ids.ID{ids.New(), ids.New()}
		list = append(list, Member{Account: account[r][0], Role: r, Name: "the " + string(r)}, Member{Account: account[r][1], Role: r})
	}
	for _, actor := range Roles {
		for _, target := range Roles {
			at, _ := list.find(account[target][1])
			for _, to := range Roles {
				want := actor == owner || actor == admin && target != owner && to != owner
				if err := list.mayChange(account[actor][0], at, to); (err == nil) != want {
					t.Errorf("%s makes %s %s: %v", actor, target, to, err)
				}
			}
			want := actor == owner || actor == admin && target != owner
			if err := list.mayTakeOut(account[actor][0], at, false); (err == nil) != want {
				t.Errorf("%s removes %s: %v", actor, target, err)
			}
		}
		self, _ := list.find(account[actor][0])
		for _, to := range []tenancy.Role{owner, admin, member, viewer} {
			want := actor == owner || actor == admin && to == admin
			if err := list.mayChange(self.Account, self, to); (err == nil) != want {
				t.Errorf("%s makes himself %s: %v", actor, to, err)
			}
		}
		if err := list.mayTakeOut(self.Account, self, false); err == nil {
			t.Errorf("%s removes himself", actor)
		}
		if err := list.mayTakeOut(self.Account, self, true); err != nil {
			t.Errorf("%s leaves: %v", actor, err)
		}
	}
	if err := list.mayTakeOut(ids.New(), list[0], false); err == nil {
		t.Error("a stranger removes the owner")
	}
}
