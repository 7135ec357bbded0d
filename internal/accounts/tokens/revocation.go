package tokens

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/signal"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	// revocationsLive is how old what this process knows of revocations may be
	// when a call is judged by it. An older one is read anew by the call itself.
	revocationsLive = 3 * time.Second
	// revocationsEvery is how often they are read although nobody announced one.
	revocationsEvery = 2 * time.Second
	// revocationsOverlap is how far each reading goes back behind the one before:
	// a row's time is taken before its transaction commits, and a transaction is
	// ended long before it is this old.
	revocationsOverlap = time.Minute
	// revocationsKept is the life of a row, longer than that of any token.
	revocationsKept = 2 * time.Hour
)

// RevokedTopics begins every RevokedTopic.
const RevokedTopics = "revoked:"

// RevokedTopic is to be published after a commit that ended tokens of agents:
// by RevokeAgentTx, or with an enrolment token.
func RevokedTopic(workspace ids.ID) string { return RevokedTopics + workspace.String() }

// ParseRevokedTopic gives the workspace of a RevokedTopic, false for the bare
// prefix.
func ParseRevokedTopic(topic string) (ids.ID, bool) {
	return ids.Parse(topic[min(len(RevokedTopics), len(topic)):])
}

// Ended is why the tokens of an agent ended.
type Ended string

// The reasons for which tokens of agents end before their time.
const (
	// EndedRevoked is a person's word about the enrolment token.
	EndedRevoked Ended = "revoked"
	// EndedCutOff is a person's word about the agent.
	EndedCutOff Ended = "cut_off"
	// EndedSuperseded is a later registration of the agent.
	EndedSuperseded Ended = "superseded"
	// EndedRemoved is a person's word about the agent's factory.
	EndedRemoved Ended = "removed"
)

// RevokeAgentTx ends, in the caller's transaction, the tokens of an agent of a
// generation below one. RevokedTopic is to be published after the commit.
func RevokeAgentTx(ctx context.Context, tx db.Tx, workspace, agent ids.ID, why Ended, below int64) error {
	return putRevocationTx(ctx, tx, workspace, agent, why, below)
}

// revocation is what ended tokens of an agent, or all that came from an
// enrolment token.
type revocation struct {
	workspace, subject ids.ID
	why                Ended
	floor              int64 // the first good generation of an agent
	at                 time.Time
}

// revocations is what this process knows of them. An agent's token says by
// itself who calls; only this says that it has ended.
type revocations struct {
	// turn is held by whoever reads; one at a time.
	turn chan struct{}
	// changed wakes Watch after invalidate.
	changed signal.Signal

	mu    sync.Mutex
	known map[[2]ids.ID]revocation // by workspace and subject
	// asked is when the last reading that came to an end began; doubts counts what
	// was announced since the start, and settled how much of it that reading knew.
	asked           time.Time
	doubts, settled uint64
	// through is the time of the database at that reading.
	through time.Time
}

func newRevocations() *revocations {
	return &revocations{turn: make(chan struct{}, 1), changed: signal.New(), known: map[[2]ids.ID]revocation{}}
}

// invalidate makes the next call read again: there is something new.
func (r *revocations) invalidate(string) {
	r.mu.Lock()
	r.doubts++
	r.mu.Unlock()
	r.changed.Set()
}

// believed reports whether what is known is new enough to judge by.
func (r *revocations) believed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.settled == r.doubts && !r.asked.IsZero() && time.Since(r.asked) < revocationsLive
}

// judge refuses an agent whose token has ended.
func (r *revocations) judge(who *tenancy.Principal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ended := r.known[[2]ids.ID{who.Workspace, who.Token}]; ended && who.Token != ids.Nil {
		return fault.New(fault.TokenRevoked, "The enrolment token of %s was revoked.", who.Name)
	}
	found, ended := r.known[[2]ids.ID{who.Workspace, who.Agent}]
	switch {
	case !ended || who.Generation >= found.floor:
		return nil
	case found.why == EndedSuperseded:
		return fault.New(fault.Superseded, "%s was started again; this process has no leases any more and is to stop.", who.Name)
	}
	if found.why == EndedRemoved {
		return fault.New(fault.TokenRevoked, "The factory of %s was removed by a person; register again.", who.Name)
	}
	return fault.New(fault.TokenRevoked, "%s was cut off by a person.", who.Name)
}

// begin notes what a reading that starts now will know: everything that was announced
// before, and all since a time of the database's clock.
func (r *revocations) begin() (asked time.Time, told uint64, since time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.through.IsZero() {
		since = r.through.Add(-revocationsOverlap)
	}
	return time.Now(), r.doubts, since
}

// learn takes in what a reading found, and returns the workspaces of what is new and was not
// announced: the wake-up was lost, or is still on its way.
func (r *revocations) learn(found []revocation, asked time.Time, told uint64, through time.Time) (unannounced []ids.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	heard := r.asked.IsZero() || r.settled != told
	for _, one := range found {
		at := [2]ids.ID{one.workspace, one.subject}
		if before, known := r.known[at]; !heard && (!known || before.floor != one.floor || before.why != one.why) {
			unannounced = append(unannounced, one.workspace)
		}
		r.known[at] = one
	}
	for at, one := range r.known {
		if one.at.Before(through.Add(-revocationsKept)) {
			delete(r.known, at)
		}
	}
	r.asked, r.settled, r.through = asked, told, through
	return unannounced
}

// checkRevoked refuses an agent whose token was ended before its time. It queries the
// database only where what this process knows is too old: nothing is believed
// that is older than revocationsLive, or than the last news.
func (s *Service) checkRevoked(ctx context.Context, who *tenancy.Principal) error {
	if !s.revoked.believed() {
		if err := s.readRevocations(ctx); err != nil {
			return err
		}
	}
	return s.revoked.judge(who)
}

// readRevocations brings what this process knows up to date. Calls that come
// together share one reading.
func (s *Service) readRevocations(ctx context.Context) error {
	r := s.revoked
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.believed() {
		return nil
	}
	return s.readAgain(ctx)
}

// readAgain is readRevocations for whoever has the turn.
func (s *Service) readAgain(ctx context.Context) error {
	asked, told, since := s.revoked.begin()
	var found []revocation
	var through time.Time
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		found, through, err = revocationsSinceTx(ctx, tx, since)
		return err
	})
	if err != nil {
		return fmt.Errorf("read revocations: %w", err)
	}
	// Claims wait for the announcement, so it is made up for.
	for _, workspace := range s.revoked.learn(found, asked, told, through) {
		s.wake.Publish(RevokedTopic(workspace))
	}
	return nil
}

// Watch keeps what this process knows of revocations fresh until ctx ends, so
// that calls find it ready: at once where another process announces one, every
// two seconds where nobody does. It returns nil when ctx ends, and an error when
// the database cannot be queried; calls of agents then query it themselves.
func (s *Service) Watch(ctx context.Context) error {
	tick := time.NewTicker(revocationsEvery)
	defer tick.Stop()
	for {
		s.revoked.turn <- struct{}{}
		err := s.readAgain(ctx)
		<-s.revoked.turn
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.revoked.changed.C():
		case <-tick.C:
		}
	}
}

// ExpireRevocations deletes those that no token outlives, in at most so many
// workspaces as there are rows to look at.
func (s *Service) ExpireRevocations(ctx context.Context, rows int) error {
	var workspaces []ids.ID
	err := s.db.In(ctx, db.System, func(tx db.Tx) (err error) {
		workspaces, err = q.RevocationOldWorkspaces(ctx, tx, rows)
		return err
	})
	if err != nil {
		return fmt.Errorf("old revocations: %w", err)
	}
	for _, w := range workspaces {
		err := s.db.In(ctx, db.Workspace(w), func(tx db.Tx) error { return q.RevocationExpire(ctx, tx, w) })
		if err != nil {
			return fmt.Errorf("expire revocations: %w", err)
		}
	}
	return nil
}
