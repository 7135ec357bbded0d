package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tracing"
)

// Created are the jobs that a request made, or had made when it was first sent.
type Created struct {
	Jobs     []Job
	Replayed bool
}

// DefaultProduct is what a job belongs to when nothing else says so.
const DefaultProduct = "default"

// Defaults of a new job (docs/concepts.md).
const (
	DefaultPriority   = 5
	DefaultMaxRetries = 3
	defaultMaxLost    = 5
	defaultBackoff    = 300
)

// Create makes jobs, all or none. A job waits while a dependency is open or its
// time has not come, and is ready else. A repeated request (the same from, within a
// day) gives the jobs that the first one made.
//
// Faults: Validation with the fields, "title" or "jobs[3].title";
// DependencyCycle; AlreadyExists for a key that is taken;
// IdempotencyKeyReused where the key came with another request.
func (s *Service) Create(ctx context.Context, who tenancy.Principal, from *idempotency.Key, in ...New) (Created, error) {
	return s.createAll(ctx, who, from, creation{in: in})
}

func (s *Service) createAll(ctx context.Context, who tenancy.Principal, from *idempotency.Key, c creation) (Created, error) {
	if err := c.validate(); err != nil {
		return Created{}, err
	}
	var err error
	if c.reserved, err = s.reserveKeys(ctx, who, c.in); err != nil {
		return Created{}, err
	}
	created, err := s.create(ctx, who, from, c)
	if isVersionConflict(err) {
		// What happened at this moment can be seen now.
		c.reserved, c.again = nil, true
		created, err = s.create(ctx, who, from, c)
	}
	if err == nil && !created.Replayed {
		s.wake.Publish(Topics(who.Workspace, created.Jobs...)...)
		for _, j := range created.Jobs {
			tracing.JobCreated(ctx, j.ID)
		}
	}
	return created, err
}

// create returns one try at Create.
func (s *Service) create(ctx context.Context, who tenancy.Principal, from *idempotency.Key, c creation) (created Created, err error) {
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		c.ctx, c.tx, c.who, c.vault = ctx, tx, who, s.Secrets
		var err error
		if created.Jobs, created.Replayed, err = c.replay(from); err != nil || created.Replayed {
			return err
		}
		created.Jobs, err = c.run()
		return err
	})
	if err == nil {
		s.lookAgain(ctx, who.Workspace, c.admission.contended)
	}
	return created, err
}

// isVersionConflict reports whether another transaction has just made a job with the
// same idempotency key or key, or taken the product of a new lane away; or whether
// a key that was made is one that somebody chose by hand.
func isVersionConflict(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && slices.Contains(overtaken, pg.ConstraintName)
}

var overtaken = []string{"job_idempotency_key", "job_key_key", "lane_workspace_id_product_id_fkey"}

func (c *creation) validate() error {
	in := c.in
	if len(in) < 1 || len(in) > MaxBatch {
		return fault.Invalid("jobs", "It must have 1 to %d jobs (it has %d).", MaxBatch, len(in))
	}
	p := fault.Problems{}
	keys, idempotency := map[string]bool{}, map[string]bool{}
	for i, n := range in {
		at := prefix(in, i)
		n.check(p, at)
		if c.system == nil {
			n.checkKind(p, at+"kind")
		}
		if n.Key != "" && keys[n.Key] {
			p.Add(at+"key", "Another job of this request has the same key.")
		}
		if n.IdempotencyKey != "" && idempotency[n.IdempotencyKey] {
			p.Add(at+"idempotency_key", "Another job of this request has the same key.")
		}
		keys[n.Key], idempotency[n.IdempotencyKey] = true, true
	}
	return p.Err()
}

// prefix returns what stands before the fields of one job in a fault.
func prefix(in []New, i int) string {
	if len(in) == 1 {
		return ""
	}
	return fmt.Sprintf("jobs[%d].", i)
}

// creation is one Create inside its transaction.
type creation struct {
	ctx context.Context // lives as long as the call
	tx  db.Tx
	who tenancy.Principal
	in  []New
	// reserved are keys made for the jobs without one, not compared with given ones.
	reserved []string
	// again is set at the second try.
	again    bool
	products []Product

	vault   *secrets.Service
	secrets map[ids.ID]secrets.Set
	list    []Job
	ids     []ids.ID
	deps    [][]ids.ID

	admission admission

	allow  Allow   // nil where no agent creates the job
	system *System // nil where somebody else than the system does
	filed  Filed
	// inProduct is set where the named product counts, whoever owns the repo.
	inProduct bool
}

// replay takes the request's key, or gives the answer that it got before.
func (c *creation) replay(from *idempotency.Key) ([]Job, bool, error) {
	c.ids = make([]ids.ID, len(c.in))
	for i := range c.ids {
		c.ids[i] = ids.New()
	}
	known, err := c.knownJob()
	if err != nil || known != nil {
		return known, known != nil, err
	}
	first, err := idempotency.TakeTx(c.ctx, c.tx, c.who, from, c.ids)
	if err != nil || !from.Replayed() {
		return nil, false, err
	}
	list, err := c.load(first)
	if err == nil && len(list) < len(first) {
		err = fault.New(fault.NotFound, "A job that this request made was deleted since.")
	}
	return list, true, err
}

// knownJob returns the job that was made before under the idempotency key of the one
// that is requested. A batch has no such answer: what is there already keeps it
// from being made as a whole.
func (c *creation) knownJob() ([]Job, error) {
	for i, n := range c.in {
		if n.IdempotencyKey == "" {
			continue
		}
		known, err := madeWithKeyTx(c.ctx, c.tx, c.who.Workspace, n.IdempotencyKey)
		if err != nil {
			return nil, err
		}
		switch {
		case len(known) > 0 && len(c.in) > 1:
			return nil, fault.New(fault.AlreadyExists, "There is already a job with the idempotency key of entry %d.", i).
				With("field", prefix(c.in, i)+"idempotency_key")
		case len(known) > 0:
			if err := c.requireSame(known[0], n); err != nil {
				return nil, err
			}
			return c.load(known)
		}
	}
	return nil, nil
}

// requireSame refuses an idempotency key that a job was made with from another
// content.
func (c *creation) requireSame(job ids.ID, n New) error {
	digests, err := c.digests(n)
	if err != nil {
		return err
	}
	kept, err := q.JobRequestGet(c.ctx, c.tx, c.who.Workspace, job)
	if err != nil {
		return err
	}
	for _, k := range kept {
		if !slices.ContainsFunc(digests, func(d []byte) bool { return bytes.Equal(k, d) }) {
			return fault.New(fault.IdempotencyKeyReused, "A job with other content was made with this idempotency key. Use a new one.")
		}
	}
	return nil
}

// digests are by which the same content is recognised, the one that is kept first.
func (c *creation) digests(n New) ([][]byte, error) {
	spec := n.WithDefaults()
	n.Priority, n.MaxRetries = &spec.Priority, &spec.MaxRetries
	text, err := json.Marshal(struct {
		New
		BudgetNanos *int64
	}{n, n.BudgetNanos})
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	sum := sha256.Sum256(text)
	return c.vault.Digests(sum[:]), nil
}

// load reads jobs in the order of their ids' list.
func (c *creation) load(list []ids.ID) ([]Job, error) {
	found, err := LoadManyTx(c.ctx, c.tx, c.who.Workspace, list)
	at := make(map[ids.ID]int, len(list))
	for i, id := range list {
		at[id] = i
	}
	slices.SortFunc(found, func(a, b Job) int { return at[a.ID] - at[b.ID] })
	return found, err
}

func (c *creation) run() ([]Job, error) {
	// Keys are made last: the numbers they are made of are nobody else's until the
	// transaction ends.
	for _, step := range []func() error{c.build, c.permit, c.refuseTaken, c.resolveDependencies, c.decideStatus, c.admit, c.ensureLanes,
		c.makeKeys, c.insert, c.link, c.record} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c.created()
}

// build fills in defaults and products.
func (c *creation) build() error {
	products, err := productsTx(c.ctx, c.tx, c.who.Workspace)
	if err != nil {
		return err
	}
	c.products, c.secrets = products, map[ids.ID]secrets.Set{}
	p := fault.Problems{}
	for i, n := range c.in {
		product := c.chooseProduct(n, p, prefix(c.in, i))
		input, values, err := secrets.Hide(n.InputContext, n.SecretKeys)
		if err != nil {
			return err
		}
		c.secrets[c.ids[i]] = values
		spec := n.WithDefaults()
		if c.system != nil {
			spec.Capabilities = append(slices.Clip(spec.Capabilities), c.system.Away...)
		}
		c.list = append(c.list, Job{
			Spec: spec.stored(), ID: c.ids[i], Key: n.Key, Kind: n.Kind, ProductID: product.ID, Product: product.Name,
			FilesTouched: []string{}, InputContext: orNoInput(input), SecretKeys: set(n.SecretKeys),
			ReviewRequired: orDefault(n.ReviewOverride, product.ReviewRequired), ProductPaused: product.Paused,
			MaxLost: orDefault(n.MaxLost, defaultMaxLost), RetryBackoffSeconds: orDefault(n.RetryBackoffSeconds, defaultBackoff),
			IdempotencyKey: n.IdempotencyKey, BlockedReason: n.BlockedReason, Serialise: product.Serialise,
			ReviewLimit: product.ReviewLimit, ProductModels: product.Models, VerifyMode: product.Verify.Mode,
			ApprovesUnverified: product.AutoApprove.ApprovesUnverified(),
		}.asSystem())
	}
	return p.Err()
}

// chooseProduct finds a job's product: the one named, else the one that owns its
// repo, else "default".
func (c *creation) chooseProduct(n New, p fault.Problems, at string) Product {
	products := c.products
	owner := slices.IndexFunc(products, func(x Product) bool { return n.Repo != "" && slices.Contains(x.Repos, n.Repo) })
	if n.Product == "" && owner >= 0 {
		return products[owner]
	}
	name := n.Product
	if name == "" {
		name = DefaultProduct
	}
	named := slices.IndexFunc(products, func(x Product) bool { return x.Name == name })
	switch {
	case named < 0:
		p.Add(at+"product", "There is no product %s.", name)
		return Product{}
	case owner >= 0 && owner != named && !c.inProduct:
		p.Add(at+"product", "The repo %s belongs to the product %s.", n.Repo, products[owner].Name)
	}
	return products[named]
}

// set returns a list sorted and without repetitions.
func set(list []string) []string {
	s := slices.Clone(db.OrEmpty(list))
	slices.Sort(s)
	return slices.Compact(s)
}
