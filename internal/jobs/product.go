package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/autoapprove"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

// Product is what jobs are billed to and shown under.
type Product struct {
	ID   ids.ID `json:"-"`
	Name string `json:"name"`
	ProductSettings
}

// Merge is how approved work of a product is merged.
type Merge struct {
	By     string `json:"merge_by"`     // MergeByPerson, the zero value's meaning too, or one of the others
	Method string `json:"merge_method"` // MergeCommit, the zero value's meaning too, or MergeFastForward
	Into   string `json:"merge_into"`   // a branch; "" is the repository's default one
	Checks string `json:"merge_checks"` // a command that the merged work must pass; "" for none
}

// Who merges, and how.
const (
	MergeByPerson      = "person"
	MergeByWorker      = "worker"       // whichever factory has the repo
	MergeByPullRequest = "pull_request" // the forge, by one that a factory opens and follows
	MergeCommit        = "merge_commit"
	MergeFastForward   = "fast_forward"
)

// orDefault returns the policy with what was left out.
func (m Merge) orDefault() Merge {
	m.By, m.Method = cmp.Or(m.By, MergeByPerson), cmp.Or(m.Method, MergeCommit)
	return m
}

func (m Merge) check(p fault.Problems) {
	m = m.orDefault()
	if m.By != MergeByPerson && m.By != MergeByWorker && m.By != MergeByPullRequest {
		p.Add("merge_by", "It must be person, worker or pull_request.")
	}
	if m.Method != MergeCommit && m.Method != MergeFastForward {
		p.Add("merge_method", "It must be merge_commit or fast_forward.")
	}
	p.Line("merge_into", m.Into, MaxMergeInto)
	if strings.HasPrefix(m.Into, "-") || strings.ContainsAny(m.Into, " ~^:?*[\\") || strings.Contains(m.Into, "..") ||
		strings.Contains(m.Into, "@{") {
		p.Add("merge_into", "It must be the name of a branch.")
	}
	p.Line("merge_checks", m.Checks, MaxMergeChecks)
}

// Serialise is which jobs of one repo a product keeps from being ready or worked on at once.
type Serialise string

// The ways to serialise; "" means SerialiseNone.
const (
	SerialiseNone  Serialise = "none"
	SerialiseRepo  Serialise = "repo"  // all but one
	SerialisePaths Serialise = "paths" // those whose files can be the same
)

// Serialises are the ways to serialise.
var Serialises = []Serialise{SerialiseNone, SerialiseRepo, SerialisePaths}

func (s Serialise) orDefault() Serialise { return cmp.Or(s, SerialiseNone) }

// waitReason returns what a job of such a product waits for.
func (s Serialise) waitReason() WaitReason {
	if s == SerialisePaths {
		return WaitPathsBusy
	}
	return WaitRepoBusy
}

// ProductSettings is what a product allows and owns.
type ProductSettings struct {
	Repos          []string  `json:"repos"`
	ReviewRequired bool      `json:"review_required"`
	Serialise      Serialise `json:"serialise"`
	ReviewLimit    *int      `json:"review_limit"` // 1 or more; nil is no limit
	Paused         bool      `json:"paused"`
	Merge
	// ProofCommand is what a worker runs in the commit that it hands in, to show that the acceptance criteria
	// are met; "" is none.
	ProofCommand string `json:"proof_command"`
	// BranchRetention is how many days the branches of an ended job stay at the origin; 0 is
	// for ever, nil DefaultBranchRetention. A product that is read has it.
	BranchRetention *int `json:"branch_retention_days"`
	// Models are those that engines run its jobs with, by tier. A product that is read has no nil.
	Models tiermodel.Table `json:"models"`
	Verify Verify          `json:"verify"`
	// AutoApprove is within which limits the work is approved without a person. A product that is read has
	// all of it.
	AutoApprove autoapprove.Settings `json:"auto_approve"`
}

// Retention returns for how many days branches stay.
func (in ProductSettings) Retention() int {
	if in.BranchRetention == nil {
		return DefaultBranchRetention
	}
	return *in.BranchRetention
}

// Products lists the workspace's products by name.
func (s *Service) Products(ctx context.Context, who tenancy.Principal) ([]Product, error) {
	var list []Product
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		list, err = productsTx(ctx, tx, who.Workspace)
		return err
	})
	return list, err
}

// Product reads one product by name. NotFound.
func (s *Service) Product(ctx context.Context, who tenancy.Principal, name string) (Product, error) {
	list, err := s.Products(ctx, who)
	if err != nil {
		return Product{}, err
	}
	at := slices.IndexFunc(list, func(p Product) bool { return p.Name == name })
	if at < 0 {
		return Product{}, noProduct(name)
	}
	return list[at], nil
}

func noProduct(name string) error {
	return fault.New(fault.NotFound, "There is no product %s in this workspace.", cut(name, MaxName))
}

// PutProduct makes a product or replaces its settings; made says which. Jobs
// that a former setting held become claimable, and where jobs of a repo may not be
// worked on at once from now on, the other ready ones wait: a bounded number of each at
// once, the rest by the sweep. Nothing is taken from an agent.
//
// Faults: Forbidden; Validation, also for a repo that another product owns, by
// that product's name.
func (s *Service) PutProduct(ctx context.Context, who tenancy.Principal, name string, in ProductSettings) (
	p Product, made bool, err error) {
	if err := in.check(name); err != nil {
		return Product{}, false, err
	}
	return s.changeProduct(ctx, who, name, "", in.Repos, func(before Product) (Product, error) {
		p := Product{ID: before.ID, Name: name, ProductSettings: in}
		p.Repos, p.Merge, p.BranchRetention = set(in.Repos), in.orDefault(), new(in.Retention())
		p.Models, p.Verify, p.AutoApprove = in.Models.Clone(), in.Verify.orDefault(), in.AutoApprove.OrDefault()
		p.Serialise = in.Serialise.orDefault()
		if p.ID == ids.Nil {
			p.ID = ids.New()
		}
		return p, nil
	})
}

// PauseProduct stops the claims of a product, or lets them go on, and leaves its
// other settings alone. The log keeps the reason. Forbidden; NotFound; Validation.
func (s *Service) PauseProduct(ctx context.Context, who tenancy.Principal, name string, paused bool, reason string) (Product, error) {
	problems := fault.Problems{}
	if problems.Line("reason", reason, MaxPauseReason); len(problems) > 0 {
		return Product{}, problems.Err()
	}
	p, _, err := s.changeProduct(ctx, who, name, reason, nil, func(before Product) (Product, error) {
		if before.ID == ids.Nil {
			return Product{}, noProduct(name)
		}
		before.Paused = paused
		return before, nil
	})
	return p, err
}

// changeProduct saves what change makes of a product, the zero Product where there
// is none of that name, and wakes the claims of its lanes.
func (s *Service) changeProduct(ctx context.Context, who tenancy.Principal, name, reason string, repos []string,
	change func(before Product) (Product, error),
) (p Product, made bool, err error) {
	if !who.Can(tenancy.Manage) {
		return Product{}, false, fault.New(fault.Forbidden, "Only owners and admins change products.")
	}
	var lanes []int64
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		before, err := lockProductTx(ctx, tx, who.Workspace, name, repos)
		if err != nil {
			return err
		}
		made = before.ID == ids.Nil
		if p, err = change(before); err != nil {
			return err
		}
		if err := saveProductTx(ctx, tx, who, before, p, reason); err != nil {
			return err
		}
		lanes, err = q.LaneOfProduct(ctx, tx, who.Workspace, p.ID)
		return err
	})
	if err != nil {
		return Product{}, false, err
	}
	topics := []string{eventlog.Topic(who.Workspace)}
	for _, lane := range lanes {
		topics = append(topics, LaneTopic(who.Workspace, lane))
	}
	s.wake.Publish(topics...)
	// The product is saved, whatever comes of this; the sweep does what it leaves.
	_ = s.reconcile(ctx, who.Workspace)
	return p, made, nil
}

func (in ProductSettings) check(name string) error {
	p := fault.Problems{}
	p.Name("name", name, MaxName)
	if name == "" {
		p.Add("name", "A product must have a name.")
	}
	if len(in.Repos) > MaxRepos {
		p.Add("repos", "It must have at most %d repos.", MaxRepos)
	}
	for i, repo := range in.Repos {
		at := fmt.Sprintf("repos[%d]", i)
		p.Repo(at, repo, MaxRepo)
		if repo == "" {
			p.Add(at, "It must not be empty.")
		}
	}
	if !slices.Contains(Serialises, in.Serialise.orDefault()) {
		p.Add("serialise", "It must be none, repo or paths.")
	}
	optional(p, "review_limit", in.ReviewLimit, MinReviewLimit, MaxReviewLimit)
	p.Number("branch_retention_days", in.Retention(), 0, MaxBranchRetention)
	in.Merge.check(p)
	p.Line("proof_command", in.ProofCommand, MaxProofCommand)
	in.Verify.check(p)
	in.AutoApprove.Check(p, in.Verify.Mode == VerifyByAgent)
	for at, why := range in.Models.Problems("models") {
		p.Add(at, "%s", why)
	}
	return p.Err()
}

// lockProductTx keeps products as they are until the transaction ends and reads
// the one of that name, the zero Product where there is none. Validation where
// another product owns one of the repos.
func lockProductTx(ctx context.Context, tx db.Tx, workspace ids.ID, name string, repos []string) (Product, error) {
	if err := lockProductsTx(ctx, tx, workspace); err != nil {
		return Product{}, err
	}
	list, err := productsTx(ctx, tx, workspace)
	if err != nil {
		return Product{}, err
	}
	var found Product
	p := fault.Problems{}
	for _, product := range list {
		if product.Name == name {
			found = product
			continue
		}
		for i, repo := range repos {
			if slices.Contains(product.Repos, repo) {
				p.Add(fmt.Sprintf("repos[%d]", i), "The repo %s belongs to the product %s.", repo, product.Name)
			}
		}
	}
	return found, p.Err()
}

func saveProductTx(ctx context.Context, tx db.Tx, who tenancy.Principal, before, p Product, reason string) error {
	if err := writeProductTx(ctx, tx, who.Workspace, p); err != nil {
		return err
	}
	if before.Serialise.orDefault() != p.Serialise {
		if err := slotsOfProductTx(ctx, tx, who.Workspace, p); err != nil {
			return err
		}
	}
	changes := p.changes(before)
	if len(changes) == 0 && before.ID == p.ID {
		return nil
	}
	said := map[string]string{"product": p.Name}
	if reason != "" {
		said["reason"] = reason
	}
	return eventlog.RecordTx(ctx, tx, who, eventlog.ProductSaved, said, changes...)
}

// changes lists what differs from the product of before.
func (p Product) changes(before Product) []eventlog.Change {
	var list []eventlog.Change
	note := func(field string, differs bool, old, new any) {
		if differs {
			list = append(list, eventlog.Change{Field: field, Old: old, New: new})
		}
	}
	note("repos", !slices.Equal(before.Repos, p.Repos), db.OrEmpty(before.Repos), p.Repos)
	note("review_required", before.ReviewRequired != p.ReviewRequired, before.ReviewRequired, p.ReviewRequired)
	note("serialise", before.Serialise.orDefault() != p.Serialise, before.Serialise.orDefault(), p.Serialise)
	note("review_limit", !same(before.ReviewLimit, p.ReviewLimit), before.ReviewLimit, p.ReviewLimit)
	was := before.orDefault()
	note("merge_by", was.By != p.By, was.By, p.By)
	note("merge_method", was.Method != p.Method, was.Method, p.Method)
	note("merge_into", was.Into != p.Into, was.Into, p.Into)
	note("merge_checks", was.Checks != p.Checks, was.Checks, p.Checks)
	note("proof_command", before.ProofCommand != p.ProofCommand, before.ProofCommand, p.ProofCommand)
	if was, now := before.Retention(), p.Retention(); before.ID != ids.Nil {
		note("branch_retention_days", was != now, was, now)
	} else {
		note("branch_retention_days", now != DefaultBranchRetention, 0, now)
	}
	note("models", !before.Models.Equal(p.Models), db.OrEmpty(before.Models.Lines()), db.OrEmpty(p.Models.Lines()))
	p.Verify.changes(before.Verify, note)
	p.AutoApprove.Changes(before.AutoApprove, note)
	note("paused", before.Paused != p.Paused, before.Paused, p.Paused)
	return list
}

// DeleteProduct takes a product away. Forbidden; NotFound; InUse where it has
// jobs, archived ones counted, or is the product "default".
func (s *Service) DeleteProduct(ctx context.Context, who tenancy.Principal, name string) error {
	if !who.Can(tenancy.Manage) {
		return fault.New(fault.Forbidden, "Only owners and admins change products.")
	}
	if name == DefaultProduct {
		return fault.New(fault.InUse, "Jobs that name no product belong to %s; it stays.", name)
	}
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		p, err := lockProductTx(ctx, tx, who.Workspace, name, nil)
		if err != nil {
			return err
		}
		if p.ID == ids.Nil {
			return noProduct(name)
		}
		lanes, err := lockLanesOfProductTx(ctx, tx, who.Workspace, p.ID)
		if err != nil {
			return err
		}
		if len(lanes) > 0 {
			return fault.New(fault.InUse, "%s has jobs, maybe archived ones. It can be paused instead.", name)
		}
		if err := q.ProductDelete(ctx, tx, who.Workspace, p.ID); err != nil {
			return err
		}
		return eventlog.RecordTx(ctx, tx, who, eventlog.ProductDeleted, map[string]string{"product": p.Name})
	})
	if err == nil {
		s.wake.Publish(eventlog.Topic(who.Workspace))
	}
	return err
}

func same[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
