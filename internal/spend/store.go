package spend

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend/prices"
)

var q = dbsqlc.New()

// row is what is written of an entry that is raised.
type row struct {
	ID           string `json:"id"`
	Job          ids.ID `json:"job_id"`
	Epoch        int64  `json:"epoch"`
	Agent        ids.ID `json:"agent_id"`
	Product      ids.ID `json:"product_id"`
	Provider     string `json:"provider"`
	Model        string `json:"model"`
	Input        int64  `json:"input_tokens"`
	Output       int64  `json:"output_tokens"`
	CacheRead    int64  `json:"cache_read_tokens"`
	CacheWrite   int64  `json:"cache_write_tokens"`
	CacheWrite1h int64  `json:"cache_write_1h_tokens"`
	Reported     *int64 `json:"reported_nanos"`
	Price        *int64 `json:"price_id"`
	Computed     *int64 `json:"computed_nanos"`
	Charged      int64  `json:"charged_nanos"`
}

// write fills in what numbers and a price make of an entry.
func (r *row) write(n numbers, p *prices.Price) {
	r.Input, r.Output = n.tokens.Input, n.tokens.Output
	r.CacheRead, r.CacheWrite, r.CacheWrite1h = n.tokens.CacheRead, n.tokens.CacheWrite, n.tokens.CacheWrite1h
	c := n.cost(p)
	r.Charged, r.Reported, r.Computed = int64(c.charged), known(n.reported), known(c.computed)
	if p != nil {
		r.Price = &p.ID
	}
}

// known returns an amount, or nil where it is unknown.
func known(n Nanos) *int64 {
	if n == unknown {
		return nil
	}
	return new(int64(n))
}

// insertTx adds the entries that are not there yet, and returns those.
func insertTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []*telling) (map[entryKey]bool, error) {
	n := len(list)
	p := dbsqlc.UsageInsertParams{WorkspaceID: workspace, Ids: make([]string, n), JobIds: make([]ids.ID, n), Epochs: make([]int64, n),
		AgentIds: make([]ids.ID, n), ProductIds: make([]ids.ID, n), Providers: make([]string, n), Models: make([]string, n),
		ProviderSessions: make([]string, n), InputTokens: make([]int64, n), OutputTokens: make([]int64, n),
		CacheReadTokens: make([]int64, n), CacheWriteTokens: make([]int64, n), CacheWrite1hTokens: make([]int64, n),
		ReportedNanos: make([]int64, n), PriceIds: make([]int64, n), ComputedNanos: make([]int64, n), ChargedNanos: make([]int64, n),
		Lates: make([]bool, n), Operations: make([]string, n), Ats: make([]time.Time, n), BookedAts: make([]time.Time, n),
		Batches: make([]bool, n)}
	for i, t := range list {
		p.Ids[i], p.JobIds[i], p.Epochs[i], p.AgentIds[i], p.ProductIds[i] = t.ID, t.Job, t.Epoch, t.Agent, t.Product
		p.Providers[i], p.Models[i], p.ProviderSessions[i], p.Operations[i] = t.Provider, t.Model, t.Session, t.Operation
		p.Lates[i], p.Batches[i], p.Ats[i], p.BookedAts[i] = t.Late, t.Batch, t.At, t.bookedAt()
		tokens, cost := t.numbers.tokens, t.numbers.cost(t.price)
		p.InputTokens[i], p.OutputTokens[i] = tokens.Input, tokens.Output
		p.CacheReadTokens[i], p.CacheWriteTokens[i], p.CacheWrite1hTokens[i] = tokens.CacheRead, tokens.CacheWrite, tokens.CacheWrite1h
		p.ReportedNanos[i], p.ComputedNanos[i], p.ChargedNanos[i] = int64(t.numbers.reported), int64(cost.computed), int64(cost.charged)
		if t.price != nil {
			p.PriceIds[i] = t.price.ID
		}
	}
	added, err := q.UsageInsert(ctx, tx, p)
	if err != nil {
		return nil, err
	}
	set := make(map[entryKey]bool, len(added))
	for _, a := range added {
		set[entryKey{a.JobID, a.ID}] = true
	}
	return set, nil
}

// keptEntry is an entry that is there, locked.
type keptEntry struct {
	Booking

	id              string
	provider, model string
	numbers         numbers
	priceID         int64 // 0 is none
	price           *prices.Price
}

func (k keptEntry) key() entryKey { return entryKey{k.Job, k.id} }

// lockTx locks entries that are there, and reads what they are booked under.
func lockTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []*telling) (map[entryKey]keptEntry, error) {
	var (
		in    []ids.ID
		names []string
	)
	for _, t := range list {
		in, names = append(in, t.Job), append(names, t.ID)
	}
	rows, err := q.UsageLock(ctx, tx, in, names, workspace)
	if err != nil {
		return nil, err
	}
	booked, err := bookedTx(ctx, tx, workspace, rows)
	if err != nil {
		return nil, err
	}
	kept := make(map[entryKey]keptEntry, len(rows))
	for _, r := range rows {
		kept[entryKey{r.JobID, r.ID}] = toKeptEntry(r, booked)
	}
	return kept, nil
}

func toKeptEntry(r dbsqlc.UsageLockRow, booked map[Lease]Booking) keptEntry {
	k := keptEntry{id: r.ID, provider: r.Provider, model: r.Model, Booking: booked[Lease{r.JobID, r.Epoch}],
		numbers: numbers{reported: unknown, batch: r.Batch, tokens: prices.Tokens{Input: r.InputTokens, CacheRead: r.CacheReadTokens,
			CacheWrite: r.CacheWriteTokens, CacheWrite1h: r.CacheWrite1hTokens, Output: r.OutputTokens}}}
	k.Job, k.Epoch, k.Product = r.JobID, r.Epoch, r.ProductID
	if r.ReportedNanos != nil {
		k.numbers.reported = Nanos(*r.ReportedNanos)
	}
	if r.PriceID != nil {
		k.priceID = *r.PriceID
	}
	return k
}

// bookedTx reads what the usage of the entries' leases is booked under.
func bookedTx(ctx context.Context, tx db.Tx, workspace ids.ID, entries []dbsqlc.UsageLockRow) (map[Lease]Booking, error) {
	var (
		in     []ids.ID
		epochs []int64
	)
	for _, e := range entries {
		in, epochs = append(in, e.JobID), append(epochs, e.Epoch)
	}
	rows, err := q.UsageBooked(ctx, tx, in, epochs, workspace)
	if err != nil {
		return nil, err
	}
	booked := make(map[Lease]Booking, len(rows))
	for _, r := range rows {
		booked[Lease{r.JobID, r.Epoch}] = Booking{Phase: r.Phase, Repo: r.Repo, AgentName: r.Agent, Factory: r.Factory}
	}
	return booked, nil
}

// raiseTx writes the numbers of locked entries.
func raiseTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []keptEntry) error {
	if len(list) == 0 {
		return nil
	}
	rows := make([]row, len(list))
	for i, k := range list {
		rows[i] = row{ID: k.id, Job: k.Job, Epoch: k.Epoch, Product: k.Product, Provider: k.provider, Model: k.model}
		rows[i].write(k.numbers, k.price)
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode usage: %w", err)
	}
	return q.UsageRaise(ctx, tx, workspace, encoded)
}

// OfJobTx returns the usage of all attempts on a job. An amount that is beyond a number is the
// greatest one.
func OfJobTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) (Usage, error) {
	r, err := q.UsageOfJob(ctx, tx, workspace, job)
	if err != nil {
		return Usage{}, err
	}
	return Usage{Entries: r.Entries, Input: r.InputTokens, Output: r.OutputTokens, CacheRead: r.CacheReadTokens,
		CacheWrite: r.CacheWriteTokens, CacheWrite1h: r.CacheWrite1hTokens, Charged: Nanos(r.ChargedNanos),
		Computed: Nanos(r.ComputedNanos),
		Reported: Nanos(r.ReportedNanos), Imputed: Nanos(r.ImputedNanos), Unpriced: r.Unpriced, UnpricedTokens: r.UnpricedTokens}, nil
}

// OfJobsTx returns what jobs have cost; those that used nothing are not in there.
func OfJobsTx(ctx context.Context, tx db.Tx, workspace ids.ID, jobs []ids.ID) (map[ids.ID]Spent, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	rows, err := q.JobsSpent(ctx, tx, jobs, workspace)
	if err != nil {
		return nil, err
	}
	spent := make(map[ids.ID]Spent, len(rows))
	for _, r := range rows {
		spent[r.JobID] = Spent{
			Cost: Nanos(r.ChargedNanos), Since: Nanos(r.SinceNanos),
			Unpriced: r.Unpriced > 0, known: r.Entries > r.Unpriced,
		}
	}
	return spent, nil
}

// OfAttemptsTx returns the usage of all attempts on a job, what it has cost, and of each of those with the
// epochs that used something.
func OfAttemptsTx(ctx context.Context, tx db.Tx, workspace, job ids.ID, epochs []int64) (used JobUsage, err error) {
	verify, err := q.JobVerifyCost(ctx, tx, workspace, job)
	if err != nil {
		return used, err
	}
	used.Verified, used.Verify = verify.Tokens > 0, Nanos(verify.ChargedNanos)
	if used.Total, err = OfJobTx(ctx, tx, workspace, job); err != nil || used.Total.Entries == 0 {
		return used, err
	}
	spent, err := OfJobsTx(ctx, tx, workspace, []ids.ID{job})
	used.Spent = spent[job]
	if err != nil || len(epochs) == 0 {
		return used, err
	}
	leases := make([]Lease, len(epochs))
	for i, epoch := range epochs {
		leases[i] = Lease{Job: job, Epoch: epoch}
	}
	found, err := OfLeasesTx(ctx, tx, workspace, leases)
	used.Attempts = make(map[int64]Usage, len(found))
	for l, one := range found {
		used.Attempts[l.Epoch] = one
	}
	return used, err
}

// SplitLeases gives the jobs and the epochs of leases as two columns.
func SplitLeases(leases []Lease) (in []ids.ID, epochs []int64) {
	for _, l := range leases {
		in, epochs = append(in, l.Job), append(epochs, l.Epoch)
	}
	return in, epochs
}

// OfLeasesTx returns the usage under leases; those that used nothing are not in there.
func OfLeasesTx(ctx context.Context, tx db.Tx, workspace ids.ID, leases []Lease) (map[Lease]Usage, error) {
	in, epochs := SplitLeases(leases)
	rows, err := q.UsageOfLeases(ctx, tx, in, epochs, workspace)
	if err != nil {
		return nil, err
	}
	all := make(map[Lease]Usage, len(rows))
	for _, r := range rows {
		all[Lease{r.JobID, r.Epoch}] = Usage{Entries: r.Entries, Input: r.InputTokens, Output: r.OutputTokens, CacheRead: r.CacheReadTokens,
			CacheWrite: r.CacheWriteTokens, CacheWrite1h: r.CacheWrite1hTokens, Charged: Nanos(r.ChargedNanos),
			Computed: Nanos(r.ComputedNanos), Reported: Nanos(r.ReportedNanos), Imputed: Nanos(r.ImputedNanos), Unpriced: r.Unpriced,
			UnpricedTokens: r.UnpricedTokens}
	}
	return all, nil
}
