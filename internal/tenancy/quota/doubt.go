package quota

import (
	"context"
	"time"
)

const (
	// doubtsAtOnce are the credentials that are looked up at one moment for
	// addresses that have nothing left.
	doubtsAtOnce = 4
	// doubtWait is how long one waits for that.
	doubtWait = 2 * time.Second
	// provenLife is how long a credential that was good passes by this.
	provenLife = time.Hour
)

// Doubt is to be called before a credential is looked up, and done after it. An
// address that has spent what it has on credentials of nobody costs a few
// look-ups at a time, and no more; whoever shares it with a good credential still
// gets through, at once where this process has seen it lately. Fault: TooMany
// where the turn does not come in time.
func (q *Quota) Doubt(ctx context.Context, address, credential string) (done func(), err error) {
	nothing := func() {}
	if q == nil || q.addresses.wait(network(address)) <= 0 || q.proven.left(credential) > 0 {
		return nothing, nil
	}
	patience := time.NewTimer(doubtWait)
	defer patience.Stop()
	select {
	case q.doubts <- struct{}{}:
		return func() { <-q.doubts }, nil
	case <-patience.C:
		return nothing, refusal(q.addresses.wait(network(address)) + time.Second)
	case <-ctx.Done():
		return nothing, ctx.Err()
	}
}
