package bus

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/batch"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
	"github.com/fleetboard/fleetboard/internal/tenancy/quota"
	"github.com/fleetboard/fleetboard/internal/waitlist"
)

// Notifier carries wake-ups between the processes of one database.
type Notifier interface {
	Publish(topics ...string)
	Subscribe(prefix string, fn func(topic string)) (cancel func())
	SubscribeWatched(prefix string, fn func(topic string)) (cancel func())
}

// Secrets reads the values that an agent must not reveal.
type Secrets interface {
	HeldTx(ctx context.Context, tx db.Tx, workspace ids.ID, of secrets.Holders) (secrets.Held, error)
}

// Blobs stores contents to which messages refer instead of a payload.
type Blobs interface {
	Keep(ctx context.Context, who tenancy.Principal, r io.Reader) (blobs.Blob, error)
	ReferTx(ctx context.Context, tx db.Tx, who tenancy.Principal, sum blobs.Sum, by blobs.Ref) error
	ForgetMessagesTx(ctx context.Context, tx db.Tx, workspace ids.ID, messages []ids.ID) error
}

// Service sends and reads messages.
type Service struct {
	*exports
	*archives
	*wordIndex

	db      *db.DB
	wake    Notifier
	secrets Secrets
	blobs   Blobs // nil where messages have none
	waiters *waitlist.List
	cancel  func()
	// hold is how long a message of a shared inbox stays with one reader before another gets it.
	hold time.Duration
	// sends writes short calls together; longLists and reads bound how many transactions of
	// other calls a workspace has at once.
	sends            *batch.Queue[sending, []Sent]
	longLists, reads *workspaceLimit

	mu      sync.Mutex
	waiting map[ids.ID]map[string]int // how many wait for an inbox, by workspace
	logs    eventlog.Changed          // workspaces with events since Bridge
}

// defaultHold is how long a message of a shared inbox stays with one reader.
const defaultHold = 2 * time.Minute

// NewService returns the bus of the messages in d. contents may be nil: then messages have no
// blobs. Limits of waiting reads are divided among servers. Close ends its subscriptions and every wait.
func NewService(d *db.DB, wake Notifier, values Secrets, contents Blobs, servers quota.Servers) *Service {
	s := &Service{
		exports:   &exports{d},
		archives:  &archives{d},
		wordIndex: &wordIndex{db: d},
		db:        d,
		wake:      wake,
		secrets:   values,
		blobs:     contents,
		waiters:   waitlist.New(),
		hold:      defaultHold,
		waiting:   map[ids.ID]map[string]int{},
	}
	s.sends = batch.New(d, batch.Handler[sending, []Sent]{Exec: s.execSends})
	s.longLists = newWorkspaceLimit(maxLongLists)
	s.reads = newWorkspaceLimit(maxReads)
	s.waiters.Watch, s.waiters.Servers = s.watch, servers
	inboxes := wake.SubscribeWatched(topicPrefix, s.wakeInbox)
	events := wake.Subscribe(eventlog.Topics, s.logs.Note)
	sent := wake.Subscribe(workspaceTopics, s.sent.Note)
	s.cancel = func() { inboxes(); events(); sent() }
	return s
}

// Close ends the subscriptions and every wait.
func (s *Service) Close() {
	s.cancel()
	s.waiters.Close()
}
