package report

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/batch"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// MaxBatchedUsage is how many entries a report in a batch may have.
const MaxBatchedUsage = maxBatchedUsage

// UsageSaid is a report of usage, and who it is from.
type UsageSaid struct {
	Who   tenancy.Principal
	Lines []UsageLine
}

// UsageHeard is the answer to one of them.
type UsageHeard struct {
	Answers []UsageAnswer
	Err     error
	Alone   bool // it was run alone
}

// UsageTogether answers reports as though they had all waited for the same batch, and
// reports each by its place when it is answered.
func (s *Service) UsageTogether(ctx context.Context, workspace ids.ID, said []UsageSaid, tell func(int, UsageHeard)) {
	items := make([]*usageItem, len(said))
	for i, one := range said {
		items[i] = batch.NewItem[usageCall, []UsageAnswer](ctx, newUsageCall(one.Who, one.Lines))
	}
	s.usages.Flush(workspace, items)
	for i, one := range items {
		go func() {
			answers, err := one.Wait()
			tell(i, UsageHeard{Answers: answers, Err: err, Alone: one.Alone})
		}()
	}
}
