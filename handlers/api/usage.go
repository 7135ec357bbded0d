package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/fleetboard/fleetboard/handlers/usagecsv"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/spend/usage"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
)

// usageHandlers answer the calls about what was used.
type usageHandlers struct{ *Deps }

const (
	defaultGroups = 100
	// defaultSpan is how far a report goes back where the call does not say.
	defaultSpan = 30 * 24 * time.Hour
)

// GetUsage gives sums in groups.
func (s *usageHandlers) GetUsage(ctx context.Context, r GetUsageRequestObject) (GetUsageResponseObject, error) {
	p, by := r.Params, usage.Product
	if p.GroupBy != nil {
		by = usage.Dimension(*p.GroupBy)
	}
	query := usageQuery(p.From, p.To, map[usage.Dimension]*string{usage.Product: p.Product, usage.Phase: p.Phase, usage.Repo: p.Repo,
		usage.Model: p.Model, usage.Provider: p.Provider, usage.Agent: p.Agent, usage.Factory: p.Factory, usage.Job: p.Job})
	if p.Format != nil {
		return s.charges(ctx, query)
	}
	most := defaultGroups
	if p.Limit != nil {
		most = *p.Limit
	}
	csv := callFrom(ctx).csv
	if csv {
		most = usage.MaxGroups
	}
	report, err := s.Usage.Report(ctx, principal(ctx), query, most, by)
	if err != nil {
		return nil, err
	}
	groups := report.By[by]
	if csv {
		if groups.Count > most {
			return nil, fault.Invalid("group_by", "It must give at most %d groups (these are %d): take a shorter period or filter.", most,
				groups.Count)
		}
		var text bytes.Buffer
		err := usagecsv.WriteSums(&text, by, groups.Sums)
		return GetUsage200TextCsvResponse{Body: &text, ContentLength: int64(text.Len())}, err
	}
	return GetUsage200JSONResponse{From: report.From, To: report.Until, GroupBy: UsageDimension(by), Groups: groups.Count,
		Items: mapSlice(groups.Sums, usageGroupModel), Total: usageModel(report.Total), CacheShare: cacheShare(report.Total)}, nil
}

// UsageGroup is what one group was used for, on the wire.
type UsageGroup struct {
	CacheShare *CacheShare `json:"cache_share"`
	Group      string      `json:"group"`
	Label      string      `json:"label"`
	Usage      Usage       `json:"usage"`
}

// UsageSummary is usage in groups, on the wire.
type UsageSummary struct {
	CacheShare *CacheShare    `json:"cache_share"`
	From       time.Time      `json:"from"`
	To         time.Time      `json:"to"`
	GroupBy    UsageDimension `json:"group_by"`
	Groups     int            `json:"groups"`
	Items      []UsageGroup   `json:"items"`
	Total      Usage          `json:"total"`
}

func usageGroupModel(s usage.Sum) UsageGroup {
	return UsageGroup{Group: s.Group, Label: s.Label, Usage: usageModel(s.Usage), CacheShare: cacheShare(s.Usage)}
}

// cacheShare returns what part of what was read came from a cache, to four places.
func cacheShare(u spend.Usage) *CacheShare {
	share, any := u.CacheShare()
	if !any {
		return nil
	}
	number := json.Number(strconv.FormatFloat(share, 'f', 4, 64))
	return &number
}

func usageQuery(from, until *time.Time, filter map[usage.Dimension]*string) usage.Query {
	q := usage.Query{Until: time.Now(), Filter: map[usage.Dimension][]string{}}
	if until != nil {
		q.Until = *until
	}
	if q.From = q.Until.Add(-defaultSpan); from != nil {
		q.From = *from
	}
	for d, value := range filter {
		if value != nil {
			q.Filter[d] = []string{*value}
		}
	}
	return q
}

// ListUsageEntries gives entries, newest first.
func (s *usageHandlers) ListUsageEntries(ctx context.Context, r ListUsageEntriesRequestObject) (ListUsageEntriesResponseObject, error) {
	p := r.Params
	query := usage.EntryQuery{Limit: limit(p.Limit), Query: usageQuery(p.From, p.To, map[usage.Dimension]*string{usage.Product: p.Product,
		usage.Phase: p.Phase, usage.Repo: p.Repo, usage.Model: p.Model, usage.Provider: p.Provider, usage.Agent: p.Agent,
		usage.Factory: p.Factory, usage.Job: p.Job})}
	var err error
	if query.Before, err = usagePosition(p.Cursor); err != nil {
		return nil, err
	}
	csv := callFrom(ctx).csv
	if csv {
		query.Limit = usage.MaxEntries
	}
	list, more, err := s.Usage.Entries(ctx, principal(ctx), query)
	if err != nil {
		return nil, err
	}
	if csv {
		return entriesCSV{ctx: ctx, usage: s.Usage, turns: s.Turns, query: query, first: list, more: more}, nil
	}
	return ListUsageEntries200JSONResponse{Items: mapSlice(list, usageBookedModel), NextCursor: usageCursor(list, more)}, nil
}

// usageCursor names the last entry of a page, "" where nothing comes after it.
func usageCursor(list []usage.Entry, more bool) string {
	if !more {
		return ""
	}
	return list[len(list)-1].Position().String()
}

func usagePosition(cursor *string) (usage.Position, error) {
	at, ok := usage.ParsePosition(value(cursor))
	if !ok {
		return at, fault.Invalid("cursor", "It must be one that this server gave out.")
	}
	return at, nil
}

// entriesCSV streams entries page by page, so that it holds one page whatever there is.
type entriesCSV struct {
	ctx   context.Context // of the call; it ends when the reader leaves
	usage *usage.Service
	turns *quota.Turns
	query usage.EntryQuery
	first []usage.Entry
	more  bool
}

// VisitListUsageEntriesResponse writes all pages. What breaks off is cut, so that nobody
// takes a part for the whole.
func (e entriesCSV) VisitListUsageEntriesResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", usagecsv.ContentType)
	w.WriteHeader(http.StatusOK)
	err := usagecsv.WriteEntries(w, e.first, e.more, func(last usage.Position) ([]usage.Entry, bool, error) {
		// Where the connection cannot be given more time, the server's own limit holds.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
		e.query.Before = last
		turn, err := e.turns.Await(e.ctx, principal(e.ctx))
		if err != nil {
			return nil, false, err
		}
		defer turn.End()
		return e.usage.Entries(e.ctx, principal(e.ctx), e.query)
	})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

func usageBookedModel(e usage.Entry) UsageBooked {
	return UsageBooked{ID: e.ID, BookedAt: e.BookedAt.UTC(), At: e.At.UTC(), Job: e.JobKey, Epoch: e.Epoch,
		Product: e.Product, Phase: e.Phase, Repo: e.Repo, Agent: e.Agent, Factory: e.Factory, Provider: e.Provider,
		Model: e.Model, ProviderSession: e.Session,
		Operation: e.Operation, InputTokens: e.Input, OutputTokens: e.Output, CacheReadTokens: e.CacheRead,
		CacheWriteTokens: e.CacheWrite, CacheWrite1HTokens: e.CacheWrite1h, ChargedUSD: e.Charged.Fixed(),
		ComputedUSD: usdOrNull(e.ComputedNanos), ReportedUSD: usdOrNull(e.ReportedNanos), Price: e.Price, Late: e.Late,
		Batch: e.Batch}
}
