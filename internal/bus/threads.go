package bus

import (
	"context"
	"math"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Conversation is a thread in a list.
type Conversation struct {
	Last     Message
	JobTitle string // of the job of its last message
	First    Message
	Who      []string // who wrote the newest messages
	Unread   bool     // the reader's own inbox holds some of it
}

const (
	// threadScan is how many messages the first step reads to find the ends of threads. A step
	// after one that found none reads twice as many, at most maxThreadScan.
	threadScan    = 500
	maxThreadScan = 16 * threadScan
	// threadSteps is how many steps one page takes; a page may be short although more follow.
	threadSteps = 10
)

// Threads reads the threads that were last written to before a position, 0 for the newest,
// the newest first, at most limit: by the notices of the server, or by what agents and people
// wrote. next is the position of the next page, 0 at the end. It is for people.
func (s *Service) Threads(ctx context.Context, who tenancy.Principal, notices bool, before int64, limit int) (
	list []Conversation, next int64, err error,
) {
	if before <= 0 {
		before = math.MaxInt64
	}
	err = s.forPerson(ctx, who, func(tx db.Tx, r reader) error {
		var ends []int64
		if ends, next, err = threadEnds(ctx, tx, who, notices, before, limit); err != nil || len(ends) == 0 {
			return err
		}
		list, err = threadsTx(ctx, tx, who.Workspace, r.direct, ends)
		return err
	})
	return list, next, err
}

// threadEnds reads backwards until it has found the ends of limit threads.
func threadEnds(ctx context.Context, tx db.Tx, who tenancy.Principal, notices bool, before int64, limit int) (
	ends []int64, next int64, err error,
) {
	scan := threadScan
	for range threadSteps {
		step, err := threadEndsTx(ctx, tx, who.Workspace, notices, before, scan)
		if err != nil {
			return nil, 0, err
		}
		found := len(ends)
		for _, e := range step {
			if before = e.seq; !e.ends {
				continue
			}
			if ends = append(ends, e.seq); len(ends) == limit {
				return ends, before, nil
			}
		}
		if len(step) < scan {
			return ends, 0, nil
		}
		if len(ends) == found {
			scan = min(2*scan, maxThreadScan)
		}
	}
	return ends, before, nil
}

// Newest reads the newest messages of a thread before a position, 0 for its end, at most
// limit, the oldest of them first. It is for people.
func (s *Service) Newest(ctx context.Context, who tenancy.Principal, thread string, before int64, limit int) (list []Message, err error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	err = s.forPerson(ctx, who, func(tx db.Tx, _ reader) error {
		list, err = newestTx(ctx, tx, who.Workspace, thread, before, limit)
		return err
	})
	return list, err
}

// Unread reports for each thread whether the caller's own inbox holds messages of it.
func (s *Service) Unread(ctx context.Context, who tenancy.Principal, threads ...string) (unread map[string]bool, err error) {
	err = s.forPerson(ctx, who, func(tx db.Tx, r reader) error {
		unread, err = unreadTx(ctx, tx, who.Workspace, r.direct, threads)
		return err
	})
	return unread, err
}

// Seen removes the messages of a thread up to a position from a person's own inbox, also those that
// were only shown, and returns how many.
func (s *Service) Seen(ctx context.Context, who tenancy.Principal, thread string, seq int64) (n int64, err error) {
	err = s.forPerson(ctx, who, func(tx db.Tx, r reader) error {
		n, err = q.InboxSeen(ctx, tx, who.Workspace, r.direct, seq, thread)
		return err
	})
	if err == nil && n > 0 {
		s.notifyReaders(who.Workspace, nil)
	}
	return n, err
}

// forPerson calls do in a transaction, with the inbox of the person.
func (s *Service) forPerson(ctx context.Context, who tenancy.Principal, do func(tx db.Tx, r reader) error) error {
	if who.Kind != tenancy.KindPerson || !who.Can(tenancy.ReadBoard) {
		return fault.New(fault.Forbidden, "Threads are for people who read the board.")
	}
	return s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		r, err := findReader(ctx, tx, who)
		if err != nil {
			return err
		}
		return do(tx, r)
	})
}
