package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/eventlog"
	"fleetboard/internal/fault"
	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// Origin tells a repeated request from a new one: the sender's idempotency key
// and a digest of what was asked for. The zero Origin is always new.
type Origin struct {
	Key    string
	Digest []byte
}

// Created are the jobs that a request made, or had made when it was first sent.
type Created struct {
	Jobs     []Job
	Replayed bool
}

// DefaultProduct is what a job belongs to when nothing else says so.
const DefaultProduct = "default"

// Defaults of product.md section 2.
const (
	defaultPriority   = 5
	defaultMaxRetries = 3
	defaultMaxLost    = 5
	defaultBackoff    = 300
)

// Create makes jobs, all or none. A job waits while a dependency is open or its
// time has not come, and is ready else. A repeated request (same key and
// digest, within a day) gives the first answer again.
//
// Faults: Validation with the fields, "title" or "jobs[3].title";
// DependencyCycle; AlreadyExists for a key that is taken;
// IdempotencyKeyReused where the key came with another request.
func (s *Service) Create(ctx context.Context, who tenancy.Principal, from Origin, in ...New) (Created, error) {
	if err := validate(in); err != nil {
		return Created{}, err
	}
	var created Created
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		c := &creation{ctx: ctx, tx: tx, who: who, in: in}
		var err error
		if created.Jobs, created.Replayed, err = c.replay(from); err != nil || created.Replayed {
			return err
		}
		created.Jobs, err = c.run()
		return err
	})
	if err == nil && !created.Replayed {
		s.wake.Publish(Topics(who.Workspace, created.Jobs...)...)
	}
	return created, err
}

func validate(in []New) error {
	if len(in) < 1 || len(in) > MaxBatch {
		return fault.Invalid("jobs", "There are %d; 1 to %d is possible.", len(in), MaxBatch)
	}
	p := fault.Problems{}
	seen := map[string]bool{}
	for i, n := range in {
		at := prefix(in, i)
		n.check(p, at)
		if n.Key != "" && seen[n.Key] {
			p.Add(at+"key", "Another job of this request has the same key.")
		}
		seen[n.Key] = true
	}
	return p.Err()
}

// prefix is what stands before the fields of one job in a fault.
func prefix(in []New, i int) string {
	if len(in) == 1 {
		return ""
	}
	return fmt.Sprintf("jobs[%d].", i)
}

// creation is one Create inside its transaction.
type creation struct {
	ctx context.Context //nolint:containedctx // lives as long as the call
	tx  db.Tx
	who tenancy.Principal
	in  []New

	list []Job
	ids  []ids.ID
	deps [][]ids.ID
}

// replay takes the request's key, or gives the answer that it got before.
func (c *creation) replay(from Origin) ([]Job, bool, error) {
	c.ids = make([]ids.ID, len(c.in))
	for i := range c.ids {
		c.ids[i] = ids.New()
	}
	if one := c.in[0]; len(c.in) == 1 && one.IdempotencyKey != "" {
		known, err := c.byJobKey(one.IdempotencyKey)
		if err != nil || known != nil {
			return known, known != nil, err
		}
	}
	if from.Key == "" {
		return nil, false, nil
	}
	taken, err := q.IdempotentRequestTake(c.ctx, c.tx, dbsqlc.IdempotentRequestTakeParams{
		WorkspaceID: c.who.Workspace, Key: from.Key, Digest: from.Digest, JobIds: c.ids})
	if err != nil {
		return nil, false, fmt.Errorf("take idempotency key: %w", err)
	}
	if taken == 1 {
		return nil, false, nil
	}
	first, err := q.IdempotentRequestGet(c.ctx, c.tx, dbsqlc.IdempotentRequestGetParams{
		WorkspaceID: c.who.Workspace, Key: from.Key})
	if err != nil {
		return nil, false, fmt.Errorf("read idempotency key: %w", err)
	}
	if !bytes.Equal(first.Digest, from.Digest) {
		return nil, false, fault.New(fault.IdempotencyKeyReused,
			"This idempotency key came with another request within the last day. Use a new one.")
	}
	list, err := c.load(first.JobIds)
	return list, true, err
}

func (c *creation) byJobKey(key string) ([]Job, error) {
	rows, err := q.JobByIdempotencyKey(c.ctx, c.tx, dbsqlc.JobByIdempotencyKeyParams{
		WorkspaceID: c.who.Workspace, IdempotencyKey: &key})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return c.load(rows)
}

// load reads jobs in the order of their ids' list.
func (c *creation) load(list []ids.ID) ([]Job, error) {
	found, err := LoadManyTx(c.ctx, c.tx, c.who.Workspace, list)
	slices.SortFunc(found, func(a, b Job) int { return slices.Index(list, a.ID) - slices.Index(list, b.ID) })
	return found, err
}

func (c *creation) run() ([]Job, error) {
	for _, step := range []func() error{c.build, c.assignKeys, c.resolveDependencies, c.decideStatus, c.internLanes, c.insert} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c.load(c.ids)
}

// build fills in defaults and products.
func (c *creation) build() error {
	products, err := productsTx(c.ctx, c.tx, c.who.Workspace)
	if err != nil {
		return err
	}
	p := fault.Problems{}
	for i, n := range c.in {
		product := productOf(n, products, p, prefix(c.in, i))
		c.list = append(c.list, Job{
			ID: c.ids[i], Key: n.Key, Title: strings.TrimSpace(n.Title), Body: n.Body, Kind: n.Kind,
			ProductID: product.ID, Product: product.Name, Repo: n.Repo, Phase: strings.TrimSpace(n.Phase),
			Priority: orDefault(n.Priority, defaultPriority), Capabilities: set(n.Capabilities), Factory: n.Factory,
			Tags: set(n.Tags), Acceptance: orEmpty(n.Acceptance), InputContext: n.InputContext,
			MaxRetries: orDefault(n.MaxRetries, defaultMaxRetries), MaxLost: orDefault(n.MaxLost, defaultMaxLost),
			RetryBackoffSeconds: orDefault(n.RetryBackoffSeconds, defaultBackoff), ReviewOverride: n.ReviewRequired,
			EstimatedComplexity: n.EstimatedComplexity, EstimatedMinutes: n.EstimatedMinutes,
			TokenBudget: n.TokenBudget, NotBefore: n.NotBefore, IdempotencyKey: n.IdempotencyKey,
		})
	}
	return p.Err()
}

// productOf finds a job's product: the one named, else the one that owns its
// repo, else "default".
func productOf(n New, products []Product, p fault.Problems, at string) Product {
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
	case owner >= 0 && owner != named:
		p.Add(at+"product", "The repo %s belongs to the product %s.", n.Repo, products[owner].Name)
	}
	return products[named]
}

// set is a list sorted and without repetitions.
func set(list []string) []string {
	s := slices.Clone(orEmpty(list))
	slices.Sort(s)
	return slices.Compact(s)
}

// assignKeys checks the keys that were given and makes the others.
func (c *creation) assignKeys() error {
	var given []string
	missing := 0
	for _, j := range c.list {
		if j.Key == "" {
			missing++
		} else {
			given = append(given, j.Key)
		}
	}
	taken, err := q.JobKeyTaken(c.ctx, c.tx, dbsqlc.JobKeyTakenParams{WorkspaceID: c.who.Workspace, Keys: given})
	if err != nil {
		return fmt.Errorf("look for keys: %w", err)
	}
	if len(taken) > 0 {
		return fault.New(fault.AlreadyExists, "There is already a job %s.", taken[0]).With("key", taken[0])
	}
	made, err := c.makeKeys(missing, given)
	for i := range c.list {
		if c.list[i].Key == "" && err == nil {
			c.list[i].Key, made = made[0], made[1:]
		}
	}
	return err
}

// makeKeys takes n keys like FB-12 that nobody has chosen by hand.
func (c *creation) makeKeys(n int, given []string) ([]string, error) {
	if n == 0 {
		return nil, nil
	}
	prefix, err := q.JobPrefix(c.ctx, c.tx, c.who.Workspace)
	if err != nil {
		return nil, fmt.Errorf("prefix of keys: %w", err)
	}
	var free []string
	for len(free) < n {
		first, err := q.JobNumberTake(c.ctx, c.tx, dbsqlc.JobNumberTakeParams{
			WorkspaceID: c.who.Workspace, N: int64(n - len(free))})
		if err != nil {
			return nil, fmt.Errorf("take numbers: %w", err)
		}
		made := make([]string, 0, n-len(free))
		for i := range int64(n - len(free)) {
			made = append(made, fmt.Sprintf("%s-%d", prefix, first+i))
		}
		taken, err := q.JobKeyTaken(c.ctx, c.tx, dbsqlc.JobKeyTakenParams{WorkspaceID: c.who.Workspace, Keys: made})
		if err != nil {
			return nil, fmt.Errorf("look for keys: %w", err)
		}
		taken = append(taken, given...)
		free = append(free, slices.DeleteFunc(made, func(k string) bool { return slices.Contains(taken, k) })...)
	}
	return free, nil
}

// internLanes finds or makes the lanes of all needs, in the order of their
// digests so that two batches never wait for each other crosswise.
func (c *creation) internLanes() error {
	type pending struct {
		needs Needs
		jobs  []int
	}
	byDigest := map[string]*pending{}
	for i, j := range c.list {
		digest := string(j.Needs().digest())
		if byDigest[digest] == nil {
			byDigest[digest] = &pending{needs: j.Needs()}
		}
		byDigest[digest].jobs = append(byDigest[digest].jobs, i)
	}
	digests := make([]string, 0, len(byDigest))
	for d := range byDigest {
		digests = append(digests, d)
	}
	slices.Sort(digests)
	for _, d := range digests {
		lane, err := internTx(c.ctx, c.tx, c.who.Workspace, byDigest[d].needs)
		if err != nil {
			return err
		}
		for _, i := range byDigest[d].jobs {
			c.list[i].LaneID = lane
		}
	}
	return nil
}

// insert writes the jobs, their events and their dependencies.
func (c *creation) insert() error {
	rows := make([]dbsqlc.JobInsertParams, 0, len(c.list))
	for _, j := range c.list {
		row, err := c.row(j)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	var failed error
	q.JobInsert(c.ctx, c.tx, rows).Exec(func(_ int, err error) {
		if failed == nil {
			failed = err
		}
	})
	if failed != nil {
		return fmt.Errorf("insert jobs: %w", failed)
	}
	var from, to []ids.ID
	for i, deps := range c.deps {
		for _, d := range deps {
			from, to = append(from, c.list[i].ID), append(to, d)
		}
	}
	if len(from) == 0 {
		return nil
	}
	err := q.JobDependencyInsert(c.ctx, c.tx, dbsqlc.JobDependencyInsertParams{
		WorkspaceID: c.who.Workspace, JobIds: from, DependsOnIds: to, CreatedBy: c.who.Name})
	if err != nil {
		return fmt.Errorf("insert dependencies: %w", err)
	}
	return nil
}

func (c *creation) row(j Job) (dbsqlc.JobInsertParams, error) {
	acceptance, err := json.Marshal(j.Acceptance)
	if err != nil {
		return dbsqlc.JobInsertParams{}, fmt.Errorf("encode acceptance: %w", err)
	}
	input := j.InputContext
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	changes, payload, err := eventlog.Encode([]eventlog.Change{{Field: "status", Old: nil, New: j.Status}}, map[string]any{"title": j.Title})
	var idempotencyKey *string
	if j.IdempotencyKey != "" {
		idempotencyKey = &j.IdempotencyKey
	}
	return dbsqlc.JobInsertParams{
		WorkspaceID: c.who.Workspace, ID: j.ID, Key: j.Key, Title: j.Title, Kind: j.Kind, ProductID: j.ProductID,
		Repo: j.Repo, Phase: j.Phase, Priority: int16(j.Priority), Capabilities: j.Capabilities, Factory: j.Factory, //nolint:gosec // 0..10
		LaneID: j.LaneID, Tags: j.Tags, Status: string(j.Status), WaitReason: string(j.WaitReason),
		MaxRetries: int32(j.MaxRetries), MaxLost: int32(j.MaxLost), RetryBackoffSeconds: int32(j.RetryBackoffSeconds), //nolint:gosec // checked
		ReviewRequired: j.ReviewOverride, EstimatedComplexity: j.EstimatedComplexity,
		EstimatedMinutes: small(j.EstimatedMinutes), TokenBudget: j.TokenBudget, NotBefore: j.NotBefore,
		IdempotencyKey: idempotencyKey, Body: j.Body, Acceptance: acceptance, InputContext: input,
		CreatedBy: c.who.Name, ActorKind: string(c.who.Kind), Changes: changes, Payload: payload,
	}, err
}
