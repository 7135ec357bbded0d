package bus

import (
	"context"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// MaxAck is how many messages one call acknowledges one by one.
	MaxAck = 500
	// MaxError bounds what a reader says of a message that it could not process.
	MaxError = 1000
	// MaxRetry is how long a message may be put off.
	MaxRetry = 24 * time.Hour
	// firstRetry is when a message is tried again where the reader does not say.
	firstRetry = 5 * time.Second
)

// AckUpTo takes out of the caller's inbox all that it was given up to a position, and
// returns how many messages that were. A position that was acknowledged before does
// nothing.
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

// Ack takes single messages out of the caller's inbox and returns how many were there.
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

// Nack says that a message could not be processed: it is handed out again after a time, 0
// for five seconds, or becomes a dead letter where that was its last delivery.
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
		retry = firstRetry
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
		s.wake.Publish(Topic(who.Workspace))
	}
	return dead, err
}
