package bus

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// Topics are "message:<workspace>:<inbox>"; Topic of a workspace alone gets each
// message in it.
const (
	topicPrefix = "message:"
	// watchTimeout bounds one look at the inboxes that are waited for.
	watchTimeout = 5 * time.Second
	// lookOverlap is what two looks have in common, for a reader that looked itself just
	// before the watch began.
	lookOverlap = 5 * time.Second
)

// Topic is published when a message was sent in a workspace.
func Topic(workspace ids.ID) string { return topicsOfAll + workspace.String() }

// topicsOfAll is the beginning of the topics of all workspaces.
const topicsOfAll = "messages:"

func inboxTopic(workspace ids.ID, inbox string) string {
	return topicPrefix + workspace.String() + ":" + inbox
}

// wakeInbox wakes whoever waits for an inbox, the longest waiting first.
func (s *Service) wakeInbox(topic string) {
	workspace, inbox, ok := strings.Cut(strings.TrimPrefix(topic, topicPrefix), ":")
	id, known := ids.Parse(workspace)
	if !ok || !known {
		s.waiters.WakeAll() // something may have been missed
		return
	}
	s.changed(id, inbox)
}

// changed wakes who waits for an inbox: for a shared one the longest waiting, for its own
// each read of the agent or person, since they may want messages of different types.
func (s *Service) changed(workspace ids.ID, inbox string) {
	at := lane(inbox)
	s.waiters.LaneChanged(workspace, at)
	if !isShared(inbox) {
		s.waiters.NotifyNext(workspace, []int64{at}, waitlist.MaxAgentClaims)
	}
}

// tell wakes the readers of inboxes, and the pages of the workspace.
func (s *Service) tell(workspace ids.ID, inboxes []string) {
	topics := make([]string, 0, len(inboxes)+1)
	for _, inbox := range inboxes {
		topics = append(topics, inboxTopic(workspace, inbox))
	}
	s.wake.Publish(append(topics, Topic(workspace))...)
}

// enter notes that a reader waits for inboxes, so that the watch looks after them.
func (s *Service) enter(workspace ids.ID, inboxes []string) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	here := s.waiting[workspace]
	if here == nil {
		here = map[string]int{}
		s.waiting[workspace] = here
	}
	for _, inbox := range inboxes {
		here[inbox]++
	}
	return func() { s.leave(workspace, inboxes) }
}

func (s *Service) leave(workspace ids.ID, inboxes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	here := s.waiting[workspace]
	for _, inbox := range inboxes {
		if here[inbox]--; here[inbox] == 0 {
			delete(here, inbox)
		}
	}
	if len(here) == 0 {
		delete(s.waiting, workspace)
	}
}

// waitedFor gives the inboxes that are waited for: those of one agent or person, and those
// that several share.
func (s *Service) waitedFor(workspace ids.ID) (own, shared []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for inbox := range s.waiting[workspace] {
		if isShared(inbox) {
			shared = append(shared, inbox)
		} else {
			own = append(own, inbox)
		}
	}
	return own, shared
}

// watch looks, for all readers that wait in a workspace at once, for what no wake-up
// announces: a message that was to be tried again later, one that a dead reader had, and one
// whose wake-up was lost. It ends when nobody waits.
func (s *Service) watch(workspace ids.ID) {
	last := s.lookAgain(workspace, look{at: time.Now(), seq: math.MaxInt64})
	for s.waiters.Rest() {
		if s.waiters.WaitingLanes(workspace) == nil {
			return
		}
		last = s.lookAgain(workspace, last)
	}
}

// lookAgain wakes those whose inboxes have something that came since the last look. The
// database's absence is reported elsewhere: then the last look stays what it was.
func (s *Service) lookAgain(workspace ids.ID, last look) look {
	ctx, cancel := context.WithTimeout(context.Background(), watchTimeout)
	defer cancel()
	own, shared := s.waitedFor(workspace)
	inboxes, now, err := dueSince(ctx, s.db, workspace, own, shared, last)
	if err != nil {
		return last
	}
	for _, inbox := range inboxes {
		s.changed(workspace, inbox)
	}
	now.at = now.at.Add(-lookOverlap)
	return now
}

// await sleeps until one of the inboxes may have something, false when the time is over.
func (s *Service) await(ctx context.Context, workspace ids.ID, inboxes []string, version uint64, left time.Duration) bool {
	defer s.enter(workspace, inboxes)()
	why := s.waiters.Wait(ctx, workspace, waitlist.Waiting{Lanes: toLanes(inboxes), Version: version}, left)
	return why != waitlist.TimedOut
}

func toLanes(inboxes []string) []int64 {
	list := make([]int64, 0, len(inboxes))
	for _, inbox := range inboxes {
		list = append(list, lane(inbox))
	}
	return list
}
