package usage

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/spend"
)

var q = dbsqlc.New()

// newest is later than all entries.
var newest = Position{At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}

// sumTx reads the sums of a report.
func (r *Report) sumTx(ctx context.Context, tx db.Tx, workspace ids.ID, query Query, most int, by []Dimension) error {
	p := dbsqlc.UsageSumsParams{WorkspaceID: workspace, MaxGroups: int64(most), Since: query.From, Until: query.Until,
		Product: query.Filter[Product], Phase: query.Filter[Phase], Repo: query.Filter[Repo], Provider: query.Filter[Provider],
		Model: query.Filter[Model], Agent: query.Filter[Agent], Factory: query.Filter[Factory], Job: query.Filter[Job],
		Dimensions: []string{string(total)}}
	for _, d := range by {
		p.Dimensions = append(p.Dimensions, string(d))
		r.By[d] = Groups{}
	}
	rows, err := q.UsageSums(ctx, tx, p)
	if err != nil {
		return err
	}
	for _, row := range rows {
		used := spend.Usage{Entries: row.Entries, Input: row.InputTokens, Output: row.OutputTokens, CacheRead: row.CacheReadTokens,
			CacheWrite: row.CacheWriteTokens, CacheWrite1h: row.CacheWrite1hTokens, Charged: spend.Nanos(row.ChargedNanos),
			Computed: spend.Nanos(row.ComputedNanos), Reported: spend.Nanos(row.ReportedNanos), Imputed: spend.Nanos(row.ImputedNanos),
			UnpricedTokens: row.UnpricedTokens, Unpriced: row.Unpriced}
		if Dimension(row.Dimension) == total {
			r.Total = used
			continue
		}
		g := r.By[Dimension(row.Dimension)]
		g.Count = int(row.GroupCount)
		g.Sums = append(g.Sums, Sum{Usage: used, Group: row.Name, Label: row.Label})
		r.By[Dimension(row.Dimension)] = g
	}
	return nil
}

func stepsTx(ctx context.Context, tx db.Tx, workspace ids.ID, query Query, of Dimension, names []string, step Dimension) (Steps, error) {
	rows, err := q.UsageSteps(ctx, tx, dbsqlc.UsageStepsParams{WorkspaceID: workspace, Since: query.From, Until: query.Until,
		Product: query.Filter[Product], Phase: query.Filter[Phase], Repo: query.Filter[Repo], Provider: query.Filter[Provider],
		Model: query.Filter[Model], Agent: query.Filter[Agent], Factory: query.Filter[Factory], Job: query.Filter[Job],
		Dimension: string(of), Names: names, Step: string(step)})
	if err != nil {
		return nil, err
	}
	list := Steps{}
	for _, row := range rows {
		if list[row.Name] == nil {
			list[row.Name] = map[string]spend.Nanos{}
		}
		list[row.Name][row.Step] = spend.Nanos(row.ChargedNanos)
	}
	return list, nil
}

func entriesTx(ctx context.Context, tx db.Tx, workspace ids.ID, query EntryQuery, most int) ([]Entry, error) {
	before := query.Before
	if before.At.IsZero() {
		before = newest
	}
	rows, err := q.UsageEntries(ctx, tx, dbsqlc.UsageEntriesParams{WorkspaceID: workspace, Since: query.From, Until: query.Until,
		BeforeAt: before.At, BeforeID: before.ID, BeforeJob: before.Job, MaxRows: most,
		Product: query.Filter[Product], Phase: query.Filter[Phase], Repo: query.Filter[Repo], Provider: query.Filter[Provider],
		Model: query.Filter[Model], Agent: query.Filter[Agent], Factory: query.Filter[Factory], Job: query.Filter[Job]})
	if err != nil {
		return nil, err
	}
	list := make([]Entry, 0, len(rows))
	for _, r := range rows {
		e := Entry{ID: r.ID, BookedAt: r.BookedAt, At: r.At, JobID: r.JobID, JobKey: r.JobKey, Epoch: r.Epoch, Product: r.Product,
			Phase: r.Phase, Repo: r.Repo, Agent: r.Agent, Factory: r.Factory, Provider: r.Provider, Model: r.Model,
			Session: r.ProviderSession, Operation: r.Operation, Price: r.PriceID, Late: r.Late, Batch: r.Batch,
			ComputedNanos: (*spend.Nanos)(r.ComputedNanos), ReportedNanos: (*spend.Nanos)(r.ReportedNanos),
			Usage: spend.Usage{Entries: 1, Input: r.InputTokens, Output: r.OutputTokens, CacheRead: r.CacheReadTokens,
				CacheWrite: r.CacheWriteTokens, CacheWrite1h: r.CacheWrite1hTokens, Charged: spend.Nanos(r.ChargedNanos)}}
		if r.PriceID == nil {
			e.UnpricedTokens = e.Tokens()
		}
		list = append(list, e)
	}
	return list, nil
}

func accountTx(ctx context.Context, tx db.Tx, workspace ids.ID) (Account, error) {
	w, err := q.WorkspaceGet(ctx, tx, workspace)
	return Account{ID: workspace, Name: w.Name}, err
}

func chargesTx(ctx context.Context, tx db.Tx, workspace ids.ID, query ChargeQuery, most int) ([]Charge, error) {
	rows, err := q.UsageCharges(ctx, tx, dbsqlc.UsageChargesParams{WorkspaceID: workspace, Since: query.From, Until: query.Until,
		AfterHour: query.After.Hour, AfterJob: query.After.JobID, AfterEpoch: query.After.Epoch, AfterProvider: query.After.Provider,
		AfterModel: query.After.Model, AfterProduct: query.After.ProductID, MaxRows: most,
		Product: query.Filter[Product], Phase: query.Filter[Phase], Repo: query.Filter[Repo], Provider: query.Filter[Provider],
		Model: query.Filter[Model], Agent: query.Filter[Agent], Factory: query.Filter[Factory], Job: query.Filter[Job]})
	return db.Map(rows, err, func(r dbsqlc.UsageChargesRow) Charge {
		return Charge{Hour: r.Hour, JobID: r.JobID, JobKey: r.JobKey, Epoch: r.Epoch, ProductID: r.ProductID, Product: r.Product,
			Phase: r.Phase, Repo: r.Repo, Agent: r.Agent, Factory: r.Factory, Provider: r.Provider, Model: r.Model, Corrects: r.Corrects,
			Usage: spend.Usage{Entries: r.Entries, Input: r.InputTokens, Output: r.OutputTokens, CacheRead: r.CacheReadTokens,
				CacheWrite: r.CacheWriteTokens, CacheWrite1h: r.CacheWrite1hTokens, Charged: spend.Nanos(r.ChargedNanos),
				Computed: spend.Nanos(r.ComputedNanos), Reported: spend.Nanos(r.ReportedNanos), Imputed: spend.Nanos(r.ImputedNanos),
				UnpricedTokens: r.UnpricedTokens, Unpriced: r.Unpriced}}
	})
}

func unpricedTx(ctx context.Context, tx db.Tx, workspace ids.ID, query Query) ([]Named, error) {
	rows, err := q.UsageUnpriced(ctx, tx, workspace, query.From, query.Until, maxUnpriced)
	return db.Map(rows, err, func(r dbsqlc.UsageUnpricedRow) Named {
		return Named(r)
	})
}

// maxJobModels is how many models of a job are reported.
const maxJobModels = 20

func modelsTx(ctx context.Context, tx db.Tx, workspace, job ids.ID) ([]JobModel, error) {
	rows, err := q.UsageModelsOfJob(ctx, tx, workspace, job, maxJobModels)
	return db.Map(rows, err, func(r dbsqlc.UsageModelsOfJobRow) JobModel {
		return JobModel{Provider: r.Provider, Model: r.Model, Usage: spend.Usage{Entries: r.Entries, Input: r.InputTokens,
			Output: r.OutputTokens, CacheRead: r.CacheReadTokens, CacheWrite: r.CacheWriteTokens, CacheWrite1h: r.CacheWrite1hTokens,
			Charged: spend.Nanos(r.ChargedNanos), Imputed: spend.Nanos(r.ImputedNanos), Unpriced: r.Unpriced,
			UnpricedTokens: r.UnpricedTokens}}
	})
}
