package bus

import (
	"context"
	"math"
	"slices"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/fulltext"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Filter narrows messages. Zero fields narrow nothing.
type Filter struct {
	Types   []string
	Senders []string // names
	Jobs    []string // keys
}

// Found is a message with the passage that has the words of a search, each between
// fulltext.MarkBegin and fulltext.MarkEnd.
type Found struct {
	Message

	Passage string
	Rank    float32
}

// Get returns a message. An agent reads what it sent and what was sent to it.
func (s *Service) Get(ctx context.Context, who tenancy.Principal, id ids.ID) (m Message, err error) {
	err = s.browse(ctx, who, func(tx db.Tx, mine func([]Message) []Message) error {
		if m, err = byIDTx(ctx, tx, who.Workspace, id); err != nil {
			return err
		}
		if len(mine([]Message{m})) == 0 {
			return fault.New(fault.NotFound, "There is no such message in this workspace.")
		}
		return nil
	})
	return m, err
}

// Thread reads a thread after a position, the oldest message first, at most limit.
func (s *Service) Thread(ctx context.Context, who tenancy.Principal, name string, after int64, limit int) (list []Message, err error) {
	err = s.browse(ctx, who, func(tx db.Tx, mine func([]Message) []Message) error {
		list, err = threadTx(ctx, tx, who.Workspace, name, after, limit)
		list = mine(list)
		return err
	})
	return list, err
}

// Page reads the messages of the workspace before a position, 0 for the newest, the newest
// first, at most limit.
func (s *Service) Page(ctx context.Context, who tenancy.Principal, f Filter, before int64, limit int) (list []Message, err error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	err = s.browse(ctx, who, func(tx db.Tx, mine func([]Message) []Message) error {
		list, err = pageTx(ctx, tx, who.Workspace, f, before, limit)
		list = mine(list)
		return err
	})
	return list, err
}

// Search finds messages by their words, read by fulltext.Parse. The best of the newest come
// first, at most limit.
//
// Fault: Validation for a search without a word.
func (s *Service) Search(ctx context.Context, who tenancy.Principal, words string, f Filter, limit int) (list []Found, err error) {
	wanted, err := fulltext.Parse(words)
	if err != nil {
		return nil, err
	}
	err = s.browse(ctx, who, func(tx db.Tx, mine func([]Message) []Message) error {
		all, err := searchTx(ctx, tx, who.Workspace, wanted, f, limit)
		for _, one := range all {
			if len(mine([]Message{one.Message})) > 0 {
				list = append(list, one)
			}
		}
		return err
	})
	return list, err
}

// browse reads in one transaction, with what leaves of messages those that who may read:
// people all, an agent what it sent, and what was for it, its factory, a role of its, or
// all, about products that its token reaches.
func (s *Service) browse(ctx context.Context, who tenancy.Principal, read func(tx db.Tx, mine func([]Message) []Message) error) error {
	if !who.Can(tenancy.ReadBoard) {
		return fault.New(fault.Forbidden, "Messages are for those who read the board.")
	}
	return s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		if who.Kind != tenancy.KindAgent {
			return read(tx, func(list []Message) []Message { return list })
		}
		r, err := findReader(ctx, tx, who)
		if err != nil {
			return err
		}
		return read(tx, func(list []Message) []Message { return r.readable(list) })
	})
}

// Scopes says which messages an agent may read.
type Scopes struct{}

// MayReadAnyTx reports whether who may read one of these messages.
func (Scopes) MayReadAnyTx(ctx context.Context, tx db.Tx, who tenancy.Principal, list []ids.ID) (bool, error) {
	if who.Kind != tenancy.KindAgent {
		return who.Can(tenancy.ReadBoard), nil
	}
	r, err := findReader(ctx, tx, who)
	if err != nil {
		return false, err
	}
	known, err := knownTx(ctx, tx, who.Workspace, list)
	if err != nil {
		return false, err
	}
	for _, m := range known {
		if len(r.readable([]Message{m.Message})) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// readable leaves of messages those that an agent may read.
func (r reader) readable(list []Message) []Message {
	var mine []Message
	for _, m := range list {
		sent := m.From.Kind == ToAgent && m.From.ID == r.id
		if (sent || r.isFor(m.To)) && r.covers(m.subject) {
			mine = append(mine, m)
		}
	}
	return mine
}

func (r reader) isFor(to Address) bool {
	switch to.Kind {
	case ToAgent:
		return to.ID == r.id
	case ToFactory:
		return to.ID == r.factory
	case ToRole:
		return slices.Contains(r.roles, to.Name)
	case ToAll:
		return true
	}
	return false
}
