package quota

import (
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Asker is one of those whom a request counts for, and how much all of its requests
// together may hold.
type Asker struct {
	ID   ids.ID
	Most int64
	What string // what it is called in a refusal
}

// Shares are how much each may hold of what all share: one person by all of its tokens
// and sessions, one agent or one enrolment token by itself; all agents of one enrolment
// token; a workspace.
type Shares struct{ Asker, Enrolment, Workspace int64 }

// Askers returns those whom a request counts for, the smallest first. Whoever has more tokens
// has no larger share.
func Askers(who tenancy.Principal, s Shares) []Asker {
	mine := Asker{ID: who.Asker(), Most: s.Asker, What: "person"}
	workspace := Asker{ID: who.Workspace, Most: s.Workspace, What: "workspace"}
	switch who.Kind {
	case tenancy.KindAgent:
		mine.What = "agent"
		return []Asker{mine, {ID: who.Token, Most: s.Enrolment, What: "enrolment token"}, workspace}
	case tenancy.KindEnrolment:
		mine.What = "enrolment token"
	case tenancy.KindPerson, tenancy.KindSystem:
	}
	return []Asker{mine, workspace}
}
