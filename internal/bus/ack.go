package bus

import (
	"context"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/internal/metrics"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// MaxAck is how many messages one call acknowledges one by one.
	MaxAck = 500
	// MaxError bounds the text of a reader's error with a message.
	MaxError = 1000
	// MaxRetry is the longest time until a message is handed out again.
	MaxRetry = 24 * time.Hour
	// defaultRetry is when a message is handed out again unless the reader chooses a time.
	defaultRetry = 5 * time.Second
)

// AckUpTo removes from the caller's inbox all messages that were handed out to it up to a
// position, and returns how many. Repeating it has no effect.
func (s *Service) AckUpTo(ctx context.Context, who tenancy.Principal, seq int64) (n int64, err error) {
	if err := mayRead(who); err != nil {
		return 0, err
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		r, err := findReader(ctx, tx, who)
		if err != nil {
			return err
		}
		n, err = ackUpToTx(ctx, tx, who.Workspace, r, seq)
		return err
	}, db.ByIndex)
	return n, err
}

// Ack removes single messages from the caller's inbox, and returns how many were there.
func (s *Service) Ack(ctx context.Context, who tenancy.Principal, seqs []int64) (n int64, err error) {
	if err := mayRead(who); err != nil {
		return 0, err
	}
	if len(seqs) > MaxAck {
		return 0, fault.Invalid("seqs", "There must be at most %d.", MaxAck)
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		r, err := findReader(ctx, tx, who)
		if err != nil {
			return err
		}
		n, err = ackTx(ctx, tx, who.Workspace, r, slices.Compact(slices.Sorted(slices.Values(seqs))))
		return err
	}, db.ByIndex)
	return n, err
}

// Nack reports that a message could not be processed: it is handed out again after a time (0
// is five seconds), or becomes a dead letter where that was its last delivery.
//
// Fault: NotFound where the caller does not have the message.
func (s *Service) Nack(ctx context.Context, who tenancy.Principal, seq int64, reason string, retry time.Duration) (dead bool, err error) {
	if err := mayRead(who); err != nil {
		return false, err
	}
	p := fault.Problems{}
	p.Text("error", reason, MaxError)
	if retry < 0 || retry > MaxRetry {
		p.Add("retry_in_seconds", "It must be 0 to %d.", int(MaxRetry.Seconds()))
	}
	if err := p.Err(); err != nil {
		return false, err
	}
	if retry == 0 {
		retry = defaultRetry
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		r, err := findReader(ctx, tx, who)
		if err != nil {
			return err
		}
		if who.Kind == tenancy.KindAgent && reason != "" {
			held, err := s.secrets.HeldTx(ctx, tx, who.Workspace, secrets.Holders{Agents: []ids.ID{who.Agent}})
			if err != nil {
				return err
			}
			reason = held.Redactor(who.Agent).Cut(reason, MaxError)
		}
		dead, err = nackTx(ctx, tx, who.Workspace, r, seq, reason, retry)
		return err
	}, db.ByIndex)
	if err == nil && dead {
		metrics.MessagesDead.Inc()
		s.wake.Publish(Topic(who.Workspace))
	}
	return dead, err
}
