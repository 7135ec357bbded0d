package spend

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// hourKey names a sum by the hour.
type hourKey struct {
	lease           Lease
	hour            time.Time
	provider, model string
	product         ids.ID
}

// raise is by how much the sums of an hour are raised.
type raise struct {
	hourKey
	Booking

	more Usage
}

// sumRow is how it is written.
type sumRow struct {
	Job            ids.ID    `json:"job_id"`
	Epoch          int64     `json:"epoch"`
	Hour           time.Time `json:"hour"`
	Provider       string    `json:"provider"`
	Model          string    `json:"model"`
	Product        ids.ID    `json:"product_id"`
	Phase          string    `json:"phase"`
	Repo           string    `json:"repo"`
	Agent          string    `json:"agent"`
	Factory        string    `json:"factory"`
	Entries        int64     `json:"entries"`
	Unpriced       int64     `json:"unpriced"`
	Input          int64     `json:"input_tokens"`
	Output         int64     `json:"output_tokens"`
	CacheRead      int64     `json:"cache_read_tokens"`
	CacheWrite     int64     `json:"cache_write_tokens"`
	CacheWrite1h   int64     `json:"cache_write_1h_tokens"`
	Charged        int64     `json:"charged_nanos"`
	Computed       int64     `json:"computed_nanos"`
	Reported       int64     `json:"reported_nanos"`
	Imputed        int64     `json:"imputed_nanos"`
	UnpricedTokens int64     `json:"unpriced_tokens"`
}

// sumTx raises the sums of leases and hours.
func sumTx(ctx context.Context, tx db.Tx, workspace ids.ID, list []raise) error {
	sums := map[hourKey]*raise{}
	var order []*raise
	for _, r := range list {
		if s, known := sums[r.hourKey]; known {
			s.more = s.more.plus(r.more)
			continue
		}
		sums[r.hourKey] = &r
		order = append(order, &r)
	}
	if len(order) == 0 {
		return nil
	}
	rows := make([]sumRow, len(order))
	for i, r := range order {
		u := r.more
		rows[i] = sumRow{Job: r.lease.Job, Epoch: r.lease.Epoch, Hour: r.hour, Provider: r.provider, Model: r.model, Product: r.product,
			Phase: r.Phase, Repo: r.Repo, Agent: r.AgentName, Factory: r.Factory, Entries: u.Entries, Unpriced: u.Unpriced, Input: u.Input,
			Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, CacheWrite1h: u.CacheWrite1h, Charged: int64(u.Charged),
			Computed: int64(u.Computed), Reported: int64(u.Reported), Imputed: int64(u.Imputed), UnpricedTokens: u.UnpricedTokens}
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode sums of usage: %w", err)
	}
	return q.UsageSum(ctx, tx, workspace, encoded)
}
