// Package tenancy says who is asking: which workspace, as whom, with which
// rights. Every use case takes a Principal as an argument; none takes it from a
// context.
package tenancy

import (
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
)

// Kind is what sort of actor a Principal is.
type Kind string

// The kinds of actor.
const (
	KindPerson    Kind = "person"
	KindEnrolment Kind = "enrolment"
	KindAgent     Kind = "agent"
	KindSystem    Kind = "system"
)

// Role is a member's role in a workspace.
type Role string

// The roles, from most to least.
const (
	RoleOwner  Role = "owner"
	RoleAdmin  Role = "admin"
	RoleMember Role = "member"
	RoleViewer Role = "viewer"
)

// Permission is what a route or a use case needs.
type Permission string

// The permissions that routes are registered with.
const (
	// Public needs no credentials.
	Public Permission = "public"
	// SignedIn needs a person, whatever the role.
	SignedIn Permission = "signed_in"
	// ReadBoard sees jobs, agents and events.
	ReadBoard Permission = "read_board"
	// CreateJobs creates a job; of agents those whose enrolment token lets them have it.
	CreateJobs Permission = "create_jobs"
	// WriteJobs creates, edits and moves jobs.
	WriteJobs Permission = "write_jobs"
	// AnswerQuestions answers what agents ask; an agent answers that of the jobs found in
	// its own work only.
	AnswerQuestions Permission = "answer_questions"
	// SendMessages writes messages to agents and people.
	SendMessages Permission = "send_messages"
	// PutBlobs stores contents that a result or a message names.
	PutBlobs Permission = "put_blobs"
	// RunFleet drains factories, ends agents, takes leases back.
	RunFleet Permission = "run_fleet"
	// Manage changes products, members and other settings.
	Manage Permission = "manage"
	// Own is for owners alone: the workspace's name, its keys.
	Own Permission = "own"
	// Enrol registers agents.
	Enrol Permission = "enrol"
	// WorkJobs claims jobs and reports on them.
	WorkJobs Permission = "work_jobs"
)

var roleRights = map[Role][]Permission{
	RoleOwner:  {SignedIn, ReadBoard, CreateJobs, WriteJobs, AnswerQuestions, SendMessages, PutBlobs, RunFleet, Manage, Own},
	RoleAdmin:  {SignedIn, ReadBoard, CreateJobs, WriteJobs, AnswerQuestions, SendMessages, PutBlobs, RunFleet, Manage},
	RoleMember: {SignedIn, ReadBoard, CreateJobs, WriteJobs, AnswerQuestions, SendMessages, PutBlobs},
	RoleViewer: {SignedIn, ReadBoard},
}

var kindRights = map[Kind][]Permission{
	KindEnrolment: {Enrol},
	KindAgent:     {WorkJobs, ReadBoard, AnswerQuestions, SendMessages, PutBlobs},
	KindSystem:    {ReadBoard, CreateJobs, WriteJobs, AnswerQuestions, SendMessages, RunFleet},
}

// Principal is who is asking. The zero value may do nothing but what is Public.
type Principal struct {
	Kind      Kind
	Workspace ids.ID
	// Account is the person's, for KindPerson.
	Account ids.ID
	// Role is the person's in Workspace, for KindPerson.
	Role Role
	// NeedsFactor is set for a person who has to set up a second factor before
	// anything else in Workspace.
	NeedsFactor bool
	// Name is what the event log shows: a person's name, an agent's name, a loop's.
	Name string
	// Token is the access token of the request, where one was used; of an agent, the
	// enrolment token that it registered with.
	Token ids.ID
	// Generation numbers the tokens of an agent: those of a lower one than the
	// agent's are refused, for a later boot, another enrolment token or a person
	// ended them.
	Generation int64
	// Agent, Factory and Boot are an agent's, for KindAgent; its token ends at
	// Expires.
	Agent   ids.ID
	Factory string
	Boot    string
	Expires time.Time
	// Scope limits enrolment and agent tokens.
	Scope Scope
	// Roles are those that the agents of an enrolment token may have.
	Roles []string
	// MaySubmit lets an agent create jobs; of an enrolment token, those that register with it.
	MaySubmit bool
}

// Scope limits what a token may reach. An empty list, or an empty name, limits
// nothing.
type Scope struct {
	Products     []string
	Capabilities []string
	Factory      string
}

// Covers reports whether the scope reaches all that another one does.
func (s Scope) Covers(other Scope) bool {
	return covers(s.Products, other.Products) && covers(s.Capabilities, other.Capabilities) &&
		(s.Factory == "" || s.Factory == other.Factory)
}

func covers(limits, others []string) bool {
	return len(limits) == 0 || len(others) > 0 &&
		!slices.ContainsFunc(others, func(o string) bool { return !slices.Contains(limits, o) })
}

// Can reports whether the principal has the permission.
func (p Principal) Can(need Permission) bool {
	if need == Public {
		return true
	}
	if p.Kind == KindPerson {
		return !p.NeedsFactor && slices.Contains(roleRights[p.Role], need)
	}
	return slices.Contains(kindRights[p.Kind], need) || need == CreateJobs && p.Kind == KindAgent && p.MaySubmit
}

// Asker is the id of the caller: a person by all of its tokens and sessions, an agent, or
// whoever registers agents by one enrolment token. It is Nil for the server itself.
func (p Principal) Asker() ids.ID {
	switch p.Kind {
	case KindPerson:
		return p.Account
	case KindAgent:
		return p.Agent
	case KindEnrolment:
		return p.Token
	case KindSystem:
	}
	return ids.Nil
}

// System returns the principal of a loop of the server in one workspace.
func System(workspace ids.ID, loop string) Principal {
	return Principal{Kind: KindSystem, Workspace: workspace, Name: loop}
}
