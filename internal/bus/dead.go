package bus

import (
	"context"
	"math"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// DeadLetter is a message that an inbox hands out no more, since each delivery failed.
type DeadLetter struct {
	Message

	Inbox string
	Error string
	At    time.Time
}

// DeadLetters returns the dead letters before a position, 0 for the newest, the newest first. They
// are for people who run the fleet.
func (s *Service) DeadLetters(ctx context.Context, who tenancy.Principal, before int64, limit int) (list []DeadLetter, err error) {
	if err := mayRunFleet(who); err != nil {
		return nil, err
	}
	if before <= 0 {
		before = math.MaxInt64
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		list, err = deadLettersTx(ctx, tx, who.Workspace, before, limit)
		return err
	})
	return list, err
}

// Redrive puts the dead letters of a message back into their inboxes; once is nil where the
// request is not sent again. Fault: NotFound where it has none.
func (s *Service) Redrive(ctx context.Context, who tenancy.Principal, id ids.ID, once *idempotency.Key) error {
	if err := mayRunFleet(who); err != nil {
		return err
	}
	inboxes, err := idempotency.Once(ctx, s.db, who, once, func(tx db.Tx) ([]string, error) {
		inboxes, err := q.DeadRedrive(ctx, tx, who.Workspace, id)
		if err == nil && len(inboxes) == 0 {
			err = noDeadLetter()
		}
		return inboxes, err
	})
	if err == nil {
		s.notifyReaders(who.Workspace, inboxes)
	}
	return err
}

// Discard removes the dead letters of a message; the message itself stays in its thread.
// once is as for Redrive. Fault: NotFound where it has none.
func (s *Service) Discard(ctx context.Context, who tenancy.Principal, id ids.ID, once *idempotency.Key) error {
	if err := mayRunFleet(who); err != nil {
		return err
	}
	_, err := idempotency.Once(ctx, s.db, who, once, func(tx db.Tx) (int64, error) {
		n, err := q.DeadDiscard(ctx, tx, who.Workspace, id)
		if err == nil && n == 0 {
			err = noDeadLetter()
		}
		return n, err
	})
	if err == nil {
		s.notifyReaders(who.Workspace, nil)
	}
	return err
}

func noDeadLetter() error {
	return fault.New(fault.NotFound, "There is no dead letter of this message in this workspace.")
}

func mayRunFleet(who tenancy.Principal) error {
	if !who.Can(tenancy.RunFleet) {
		return fault.New(fault.Forbidden, "Dead letters are for owners and admins.")
	}
	return nil
}
