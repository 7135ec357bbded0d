package jobs

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/distinct"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// The kinds of jobs that the system alone makes. What such a job is to do stands in the
// system's own rows and travels in its claim, as an order.
const (
	KindMerge  = "merge"
	KindVerify = "verify"
)

// IsSystemKind reports whether the system alone makes jobs of a kind, in whatever case it is
// written.
func IsSystemKind(kind string) bool {
	return strings.EqualFold(kind, KindMerge) || strings.EqualFold(kind, KindVerify)
}

// System is a job that the system makes for an order.
type System struct {
	New
	// Away keeps agents away, by tokens of package distinct.
	Away []string
	// Permit runs first in the transaction that makes the job, and may refuse it.
	Permit func(ctx context.Context, tx db.Tx) error
	// Record runs last, with the job, and writes what its order is made of.
	Record func(ctx context.Context, tx db.Tx, made Job) error
}

// CreateSystem makes a job of a system kind together with what its order is made of, both or
// neither. Faults as of Create, and those of Permit and Record.
func (s *Service) CreateSystem(ctx context.Context, who tenancy.Principal, in System) (Job, error) {
	created, err := s.createAll(ctx, who, nil, creation{in: []New{in.New}, system: &in})
	if err != nil {
		return Job{}, err
	}
	return created.Jobs[0], nil
}

// CreateSystemTx is CreateSystem in a transaction that is there, for a job of the product that New names,
// whoever owns its repo by now. The caller publishes the topics of the job after the commit.
func (s *Service) CreateSystemTx(ctx context.Context, tx db.Tx, who tenancy.Principal, in System) (Job, error) {
	c := creation{in: []New{in.New}, system: &in, again: true, ctx: ctx, tx: tx, who: who, vault: s.Secrets, inProduct: true}
	if err := c.validate(); err != nil {
		return Job{}, err
	}
	c.ids = []ids.ID{ids.New()}
	made, err := c.run()
	if err != nil {
		return Job{}, err
	}
	return made[0], nil
}

// checkKind refuses the kinds that are the system's.
func (n New) checkKind(p fault.Problems, field string) {
	if IsSystemKind(n.Kind) {
		p.Add(field, "It must be another one: the system alone makes jobs of kind %s.", strings.ToLower(n.Kind))
	}
}

// peoplesFields are what people may change of a job that the system made: where and when it
// stands in the queue, not what it does.
var peoplesFields = []string{"priority", "phase", "tags", "status", "wait_reason"}

// requireOwn refuses a change of what a job of a system kind does, where it does it, and by
// whom.
func (d Decision) requireOwn() error {
	if !IsSystemKind(d.Before.Kind) {
		return nil
	}
	p := fault.Problems{}
	for _, c := range d.changes() {
		if !slices.Contains(peoplesFields, c.Field) {
			p.Add(c.Field, "It must stay as it is: the system made %s. Its priority, phase and tags may change.", d.Before.Key)
		}
	}
	return p.Err()
}

// Can reports whether the trigger leads anywhere from the job's status. A job that the system
// made is neither retried nor completed by hand.
func (j Job) Can(by Trigger) bool {
	return Can(j.Status, by) && j.requireNotSystem(by) == nil
}

// requireNotSystem refuses a trigger by which people decide what came of a job: of one that
// the system made that is the factory's report, and the system's to conclude from.
func (j Job) requireNotSystem(by Trigger) error {
	if !IsSystemKind(j.Kind) || by != ByRetry && by != ByFinish {
		return nil
	}
	return fault.New(fault.InvalidTransition,
		"%s is a job of kind %s, which the system made, and cannot be %s. Decide about the job it is for.",
		j.Key, j.Kind, by.participle()).With("status", string(j.Status))
}

// Verify is whether and how the work of a product is verified by an agent before a person looks at it.
type Verify struct {
	Mode string `json:"mode"` // VerifyOff, the zero value's meaning too, or VerifyByAgent
	// Capabilities are what a verifier must offer, beside the repo.
	Capabilities []string `json:"capabilities"`
	// Rounds is how often a verifier may send the work of a job back; nil is DefaultRounds. A product
	// that is read has it.
	Rounds   *int          `json:"rounds"`
	Distinct distinct.Rule `json:"distinct"` // distinct.ByAgent, the zero value's meaning too, or another
}

// Who verifies work, and how often work is sent back.
const (
	VerifyOff     = "off"
	VerifyByAgent = "agent"
	DefaultRounds = 2
	MaxRounds     = 5
)

// orDefault returns the policy with what was left out.
func (v Verify) orDefault() Verify {
	return Verify{Mode: cmp.Or(v.Mode, VerifyOff), Capabilities: set(v.Capabilities), Rounds: new(orDefault(v.Rounds, DefaultRounds)),
		Distinct: cmp.Or(v.Distinct, distinct.ByAgent)}
}

func (v Verify) check(p fault.Problems) {
	v = Verify{Mode: cmp.Or(v.Mode, VerifyOff), Capabilities: v.Capabilities, Rounds: v.Rounds,
		Distinct: cmp.Or(v.Distinct, distinct.ByAgent)}
	if v.Mode != VerifyOff && v.Mode != VerifyByAgent {
		p.Add("verify.mode", "It must be off or agent.")
	}
	p.Capabilities("verify.capabilities", v.Capabilities, MaxCapabilities)
	optional(p, "verify.rounds", v.Rounds, 0, MaxRounds)
	if !slices.Contains(distinct.Rules, v.Distinct) {
		p.Add("verify.distinct", "It must be agent, model or provider.")
	}
}

// changes lists what differs from the policy of before, each by note.
func (v Verify) changes(before Verify, note func(field string, differs bool, old, new any)) {
	was, now := before.orDefault(), v.orDefault()
	note("verify_mode", was.Mode != now.Mode, was.Mode, now.Mode)
	note("verify_capabilities", !slices.Equal(was.Capabilities, now.Capabilities), was.Capabilities, now.Capabilities)
	note("verify_rounds", *was.Rounds != *now.Rounds, *was.Rounds, *now.Rounds)
	note("verify_distinct", was.Distinct != now.Distinct, was.Distinct, now.Distinct)
}

// IsVerified reports whether the job's work is verified by an agent once it is handed in: it is, for a
// person to decide about, in a product that wants it so, and names a commit.
func (j Job) IsVerified() bool {
	return j.VerifyMode == VerifyByAgent && j.Status == InReview && j.HandedIn() != "" && !IsSystemKind(j.Kind)
}

// asSystem leaves out what a job that only reads does not obey: a verify job neither takes a repo nor
// adds to a review queue.
func (j Job) asSystem() Job {
	if j.Kind == KindVerify {
		j.Serialise, j.ReviewLimit = SerialiseNone, nil
	}
	return j
}
