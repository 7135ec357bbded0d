package bus

import (
	"context"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Query selects what Read returns.
type Query struct {
	After int64 // messages after this position; 0 is all that is not acknowledged
	Wait  time.Duration
	Types []string // only messages of these types; the others stay in the inbox
	Limit int      // 1 to 100
	Peek  bool     // does not count as handing them out
}

// Inbox is the result of Read.
type Inbox struct {
	Messages []Message
	// Next is the position to read on from.
	Next int64
}

const (
	// MaxRead is how many messages one call reads.
	MaxRead = 100
	// MaxWait is how long one call waits.
	MaxWait = 50 * time.Second
	// firstRetryPause and longestRetryPause bound how soon a reader reads again what a running
	// transaction holds back.
	firstRetryPause   = 2 * time.Millisecond
	longestRetryPause = 100 * time.Millisecond
)

// reader is an agent or person with their inboxes.
type reader struct {
	reach

	id      ids.ID
	direct  string
	shared  []string
	roles   []string
	factory ids.ID
}

func (r reader) inboxes() []string { return append([]string{r.direct}, r.shared...) }

// Read hands out the messages in the caller's inbox, the oldest first, and waits for the first
// message where there is none. An agent's inbox holds the messages to it, to its roles and to
// its factory.
//
// Faults: Forbidden for others than agents and people; Superseded for a boot that was
// replaced; TooMany where too many reads of the caller wait.
func (s *Service) Read(ctx context.Context, who tenancy.Principal, in Query) (Inbox, error) {
	if err := mayRead(who); err != nil {
		return Inbox{}, err
	}
	end := time.Now().Add(in.Wait)
	pause := firstRetryPause
	var leave func()
	for {
		r, got, heldBack, version, err := s.readWithinLimit(ctx, who, in)
		if err != nil || len(got) > 0 {
			return inboxOfMessages(got, in.After), err
		}
		left := time.Until(end)
		if left <= 0 || ctx.Err() != nil {
			return inboxOfMessages(nil, in.After), ctx.Err()
		}
		if leave == nil {
			if leave, err = s.waiters.Admit(who); err != nil {
				return Inbox{}, err
			}
			defer leave()
		}
		if heldBack {
			left = min(left, pause)
			pause = min(2*pause, longestRetryPause)
		} else {
			pause = firstRetryPause
		}
		if !s.waitForInboxes(ctx, who.Workspace, r.inboxes(), version, left) && !heldBack {
			return inboxOfMessages(nil, in.After), ctx.Err()
		}
	}
}

func inboxOfMessages(list []Message, after int64) Inbox {
	if n := len(list); n > 0 {
		after = max(after, list[n-1].Seq)
	}
	return Inbox{Messages: list, Next: after}
}

// mayRead refuses callers that have no inbox.
func mayRead(who tenancy.Principal) error {
	if who.Kind != tenancy.KindAgent && who.Kind != tenancy.KindPerson || !who.Can(tenancy.ReadBoard) {
		return fault.New(fault.Forbidden, "Agents and people have an inbox.")
	}
	return nil
}

// readWithinLimit reads once, within the workspace's limit of reads at once.
func (s *Service) readWithinLimit(ctx context.Context, who tenancy.Principal, in Query) (
	r reader, got []Message, heldBack bool, version uint64, err error,
) {
	leave, err := s.reads.enter(ctx, who.Workspace)
	if err != nil {
		return r, nil, false, 0, err
	}
	defer leave()
	return s.readOnce(ctx, who, in)
}

// readOnce reads once. version is the version of the inboxes before they were read; heldBack says
// that a running transaction holds messages back.
func (s *Service) readOnce(ctx context.Context, who tenancy.Principal, in Query) (
	r reader, got []Message, heldBack bool, version uint64, err error,
) {
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		r, got, heldBack, version, err = s.readTx(ctx, tx, who, in)
		return err
	}, db.ByIndex)
	return r, got, heldBack, version, err
}

func (s *Service) readTx(ctx context.Context, tx db.Tx, who tenancy.Principal, in Query) (r reader, got []Message, heldBack bool,
	version uint64, err error,
) {
	if r, err = findReader(ctx, tx, who); err != nil {
		return r, nil, false, 0, err
	}
	version = s.waiters.Version(who.Workspace, toLanes(r.inboxes()))
	for onlyDead := true; onlyDead && err == nil; {
		// heldBack is read first: the messages may be free before the inboxes are read, and
		// messages written in between cause a wake-up.
		err = tx.Pipeline(ctx, func(tx db.Tx) (err error) {
			heldBack, err = heldBackTx(ctx, tx, who.Workspace, r.inboxes(), in.After)
			return err
		}, func(tx db.Tx) (err error) {
			got, onlyDead, err = s.takeTx(ctx, tx, who.Workspace, r, in)
			return err
		})
	}
	return r, got, heldBack, version, err
}

// findReader returns the caller with their inboxes.
func findReader(ctx context.Context, tx db.Tx, who tenancy.Principal) (reader, error) {
	if who.Kind == tenancy.KindPerson {
		return reader{id: who.Account, direct: inboxName(Address{Kind: ToPerson, ID: who.Account})}, nil
	}
	rows, err := readersTx(ctx, tx, who.Workspace, []ids.ID{who.Agent})
	if err != nil {
		return reader{}, err
	}
	row := rows[who.Agent]
	if err := row.requireCurrent(who); err != nil {
		return reader{}, err
	}
	return row.reader(who.Agent), nil
}

// reader returns the agent with its inboxes.
func (r readerRow) reader(agent ids.ID) reader {
	out := reader{
		reach:   r.reach,
		id:      agent,
		direct:  inboxName(Address{Kind: ToAgent, ID: agent}),
		shared:  []string{inboxName(Address{Kind: ToFactory, ID: r.factory})},
		roles:   r.roles,
		factory: r.factory,
	}
	for _, role := range r.roles {
		out.shared = append(out.shared, inboxName(Address{Kind: ToRole, Name: role}))
	}
	return out
}

// requireCurrent refuses a boot of the agent that is not the present one.
func (r readerRow) requireCurrent(who tenancy.Principal) error {
	switch {
	case r.boot == "":
		return fault.New(fault.Superseded, "This agent is no longer registered. Register it again.")
	case r.ended:
		return fault.New(fault.Superseded, "%s was ended; it sends and reads no messages any more.", who.Name)
	case r.boot != who.Boot || r.generation > who.Generation:
		return fault.New(fault.Superseded, "%s was started again elsewhere; this boot sends and reads no messages any more.", who.Name)
	}
	return nil
}
