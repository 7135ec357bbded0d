package quota

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Each has one share, with however many tokens it calls; what a workspace has bounds all of
// its people and agents, and what an enrolment token has, all of its agents.
func TestSharesAreOfPeopleAndWorkspaces(t *testing.T) {
	shares := Shares{Asker: 3, Enrolment: 8, Workspace: 20}
	ada, bob, token, here, there := ids.New(), ids.New(), ids.New(), ids.New(), ids.New()
	person := func(account, workspace ids.ID) func() tenancy.Principal {
		return func() tenancy.Principal { // by a new token each time
			return tenancy.Principal{Kind: tenancy.KindPerson, Account: account, Workspace: workspace, Token: ids.New()}
		}
	}
	for name, c := range map[string]struct {
		who  func() tenancy.Principal
		seen int
		full string
	}{
		"one person by many tokens": {person(ada, here), 3, "person"},
		"many people":               {func() tenancy.Principal { return person(ids.New(), here)() }, 20, "workspace"},
		"one agent, registered again and again": {func() tenancy.Principal {
			return tenancy.Principal{Kind: tenancy.KindAgent, Agent: bob, Workspace: here, Token: ids.New()}
		}, 3, "agent"},
		"many agents of one enrolment token": {func() tenancy.Principal {
			return tenancy.Principal{Kind: tenancy.KindAgent, Agent: ids.New(), Workspace: here, Token: token}
		}, 8, "enrolment token"},
		"many agents of many enrolment tokens": {func() tenancy.Principal {
			return tenancy.Principal{Kind: tenancy.KindAgent, Agent: ids.New(), Workspace: here, Token: ids.New()}
		}, 20, "workspace"},
		"one enrolment token": {func() tenancy.Principal {
			return tenancy.Principal{Kind: tenancy.KindEnrolment, Workspace: here, Token: token}
		}, 3, "enrolment token"},
		"many enrolment tokens": {func() tenancy.Principal {
			return tenancy.Principal{Kind: tenancy.KindEnrolment, Workspace: here, Token: ids.New()}
		}, 20, "workspace"},
	} {
		seats, taken := NewSeats(), 0
		var leaves []func()
		for range 100 {
			leave, full := seats.Enter(Askers(c.who(), shares)...)
			if full != nil {
				if full.What != c.full {
					t.Errorf("%s: the %s is full, want the %s", name, full.What, c.full)
				}
				break
			}
			taken++
			leaves = append(leaves, leave)
		}
		if taken != c.seen {
			t.Errorf("%s: %d at once, want %d", name, taken, c.seen)
		}
		if _, full := seats.Enter(Askers(person(ids.New(), there)(), shares)...); full != nil {
			t.Errorf("%s: another workspace pays", name)
		}
		for _, leave := range leaves {
			leave()
			leave()
		}
		if len(seats.taken) != 2 { // of the other workspace
			t.Errorf("%s: %d are counted still", name, len(seats.taken))
		}
	}
}
