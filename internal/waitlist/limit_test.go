package waitlist

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// An agent, and the agents of one enrolment token, have so many claims waiting and no
// more; others go on, and there is a place again when one ends.
func TestWaitingClaimsAreCounted(t *testing.T) {
	w := New()
	token, here := ids.New(), ids.New()
	var leaves []func()
	admit := func(who tenancy.Principal) {
		t.Helper()
		leave, err := w.Admit(who)
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	refused := func(who tenancy.Principal, why string) {
		t.Helper()
		if _, err := w.Admit(who); !fault.Is(err, fault.TooMany) || !strings.Contains(err.Error(), why) {
			t.Errorf("%v; want %q", err, why)
		}
	}
	ada := tenancy.Principal{Kind: tenancy.KindAgent, Workspace: here, Agent: ids.New(), Token: token}
	for range MaxAgentClaims {
		admit(ada)
	}
	refused(ada, "100 calls of this agent")
	for range MaxEnrolmentClaims - MaxAgentClaims {
		admit(tenancy.Principal{Kind: tenancy.KindAgent, Workspace: here, Agent: ids.New(), Token: token})
	}
	bob := tenancy.Principal{Kind: tenancy.KindAgent, Workspace: here, Agent: ids.New(), Token: token}
	refused(bob, "10000 calls of this enrolment token")
	admit(tenancy.Principal{Kind: tenancy.KindAgent, Workspace: here, Agent: ids.New(), Token: ids.New()})
	leaves[0]()
	admit(bob)
	for _, leave := range leaves[1:] {
		leave()
	}
	for range MaxAgentClaims { // nothing is counted still
		admit(ada)
	}
}
