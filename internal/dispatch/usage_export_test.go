package dispatch

import (
	"context"

	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// CostlyUsage is how many entries a report may have and still be written together
// with others.
const CostlyUsage = costlyUsage

// UsageSaid is a report of usage, and who it is from.
type UsageSaid struct {
	Who   tenancy.Principal
	Lines []UsageLine
}

// UsageHeard is the answer to one of them.
type UsageHeard struct {
	Answers []UsageAnswer
	Err     error
}

// UsageTogether lets the combiner answer reports as though they had all waited for
// the same run, and tells of each by its place when it is answered.
func (s *Service) UsageTogether(ctx context.Context, workspace ids.ID, said []UsageSaid, tell func(int, UsageHeard)) {
	requests := usageRequests(ctx, said)
	s.usages.answer(workspace, requests)
	for i, r := range requests {
		go func() {
			<-r.done
			tell(i, UsageHeard{Answers: r.out, Err: r.err})
		}()
	}
}

// UsageOnce answers reports in one run in haste, and gives the places of those that
// are set apart.
func (s *Service) UsageOnce(ctx context.Context, workspace ids.ID, said []UsageSaid) (apart []int, err error) {
	requests := usageRequests(ctx, said)
	err = s.usageTogether(ctx, workspace, requests, false)
	for i, r := range requests {
		if r.apart {
			apart = append(apart, i)
		}
	}
	return apart, err
}

func usageRequests(ctx context.Context, said []UsageSaid) []*request[usageCall, []UsageAnswer] {
	requests := make([]*request[usageCall, []UsageAnswer], len(said))
	for i, one := range said {
		requests[i] = &request[usageCall, []UsageAnswer]{ctx: ctx, in: newUsageCall(one.Who, one.Lines), done: make(chan struct{})}
	}
	return requests
}
