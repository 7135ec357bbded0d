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
	// checkTimeout bounds one check of the inboxes for which readers wait.
	checkTimeout = 5 * time.Second
	// checkOverlap is how much the times of two checks overlap, for a reader that read just before
	// the watch began.
	checkOverlap = 5 * time.Second
)

// Topic is published when a message was sent in a workspace.
func Topic(workspace ids.ID) string { return workspaceTopics + workspace.String() }

// workspaceTopics is the beginning of the topics of all workspaces.
const workspaceTopics = "messages:"

func inboxTopic(workspace ids.ID, inbox string) string {
	return topicPrefix + workspace.String() + ":" + inbox
}

// wakeInbox handles the topic of an inbox.
func (s *Service) wakeInbox(topic string) {
	workspace, inbox, ok := strings.Cut(strings.TrimPrefix(topic, topicPrefix), ":")
	id, known := ids.Parse(workspace)
	if !ok || !known {
		s.waiters.WakeAll() // something may have been missed
		return
	}
	s.wakeReaders(id, inbox)
}

// wakeReaders wakes readers of an inbox: of a shared one the longest waiting, of others each read of
// the agent or person, since they may want messages of different types.
func (s *Service) wakeReaders(workspace ids.ID, inbox string) {
	lane := inboxLane(inbox)
	s.waiters.LaneChanged(workspace, lane)
	if !isShared(inbox) {
		s.waiters.NotifyNext(workspace, []int64{lane}, waitlist.MaxAgentClaims)
	}
}

// notifyReaders publishes that inboxes have changed, for their readers and the pages of the
// workspace.
func (s *Service) notifyReaders(workspace ids.ID, inboxes []string) {
	topics := make([]string, 0, len(inboxes)+1)
	for _, inbox := range inboxes {
		topics = append(topics, inboxTopic(workspace, inbox))
	}
	s.wake.Publish(append(topics, Topic(workspace))...)
}

// startWaiting counts a reader that waits for inboxes, so that the watch checks them.
func (s *Service) startWaiting(workspace ids.ID, inboxes []string) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	readers := s.waiting[workspace]
	if readers == nil {
		readers = map[string]int{}
		s.waiting[workspace] = readers
	}
	for _, inbox := range inboxes {
		readers[inbox]++
	}
	return func() { s.stopWaiting(workspace, inboxes) }
}

func (s *Service) stopWaiting(workspace ids.ID, inboxes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	readers := s.waiting[workspace]
	for _, inbox := range inboxes {
		readers[inbox]--
		if readers[inbox] == 0 {
			delete(readers, inbox)
		}
	}
	if len(readers) == 0 {
		delete(s.waiting, workspace)
	}
}

// waitedInboxes returns the inboxes for which readers wait: those of one agent or person, and
// shared ones.
func (s *Service) waitedInboxes(workspace ids.ID) (own, shared []string) {
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

// watch checks, for all waiting readers of a workspace at once, for messages without a wake-up:
// those that are handed out again after a time, those that a dead reader had, and those whose
// wake-up was lost. It ends when nobody waits.
func (s *Service) watch(workspace ids.ID) {
	last := s.checkInboxes(workspace, inboxCheck{at: time.Now(), seq: math.MaxInt64})
	for s.waiters.Rest() {
		if s.waiters.WaitingLanes(workspace) == nil {
			return
		}
		last = s.checkInboxes(workspace, last)
	}
}

// checkInboxes wakes the readers of inboxes that have got messages since the last check, and returns
// this check; the last one where the database cannot be reached, which is logged elsewhere.
func (s *Service) checkInboxes(workspace ids.ID, last inboxCheck) inboxCheck {
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	own, shared := s.waitedInboxes(workspace)
	inboxes, now, err := inboxesDue(ctx, s.db, workspace, own, shared, last)
	if err != nil {
		return last
	}
	for _, inbox := range inboxes {
		s.wakeReaders(workspace, inbox)
	}
	now.at = now.at.Add(-checkOverlap)
	return now
}

// waitForInboxes waits until one of the inboxes may have messages; false where the time is over.
func (s *Service) waitForInboxes(ctx context.Context, workspace ids.ID, inboxes []string, version uint64, left time.Duration) bool {
	stop := s.startWaiting(workspace, inboxes)
	defer stop()
	reason := s.waiters.Wait(ctx, workspace, waitlist.Waiting{Lanes: toLanes(inboxes), Version: version}, left)
	return reason != waitlist.TimedOut
}

func toLanes(inboxes []string) []int64 {
	list := make([]int64, 0, len(inboxes))
	for _, inbox := range inboxes {
		list = append(list, inboxLane(inbox))
	}
	return list
}
