package jobs

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/vault"
	"github.com/fleetboard/fleetboard/internal/batch/idempotency"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs/secrets"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Publisher wakes whoever waits for a topic, in every process. Publish never
// blocks and is called after commit.
type Publisher interface{ Publish(topics ...string) }

// Service is what people and tools do with jobs that needs no lease.
type Service struct {
	// Secrets are those of the jobs.
	Secrets *secrets.Service

	db    *db.DB
	wake  Publisher
	folds eventlog.Folds
}

// NewService returns the jobs kept in d, whose secrets the vault keeps. Purge notifies folds which
// events one stands for; nil is nobody.
func NewService(d *db.DB, wake Publisher, v *vault.Vault, folds eventlog.Folds) *Service {
	return &Service{db: d, wake: wake, folds: folds, Secrets: secrets.NewService(d, wake, v)}
}

// LaneTopic is published when a lane has got a claimable job.
func LaneTopic(workspace ids.ID, lane int64) string {
	return "lane:" + workspace.String() + ":" + strconv.FormatInt(lane, 10)
}

// ParseLaneTopic reads what LaneTopic wrote.
func ParseLaneTopic(topic string) (workspace ids.ID, lane int64, ok bool) {
	parts := strings.Split(topic, ":")
	if len(parts) != 3 || parts[0] != "lane" {
		return ids.Nil, 0, false
	}
	workspace, ok = ids.Parse(parts[1])
	lane, err := strconv.ParseInt(parts[2], 10, 64)
	return workspace, lane, ok && err == nil
}

// Topics returns what to publish once a change of these jobs is committed.
func Topics(workspace ids.ID, changed ...Job) []string {
	topics := []string{eventlog.Topic(workspace)}
	for _, j := range changed {
		if j.Status == Ready {
			topics = append(topics, LaneTopic(workspace, j.LaneID))
		}
	}
	return topics
}

// Get reads one job by key or id. NotFound where the workspace has none.
func (s *Service) Get(ctx context.Context, who tenancy.Principal, keyOrID string) (Job, error) {
	var job Job
	err := s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		job, err = LoadTx(ctx, tx, who.Workspace, keyOrID)
		return err
	})
	return job, err
}

// Titles returns the titles of jobs, by their ids; unknown ids are left out.
func (s *Service) Titles(ctx context.Context, who tenancy.Principal, list []ids.ID) (titles map[ids.ID]string, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) (err error) {
		titles, err = titlesTx(ctx, tx, who.Workspace, list)
		return err
	})
	return titles, err
}

// Search finds jobs by part of their key or title, newest first, archived ones
// left out.
func (s *Service) Search(ctx context.Context, who tenancy.Principal, query string, limit int) ([]Job, error) {
	list, _, err := s.List(ctx, who, Filter{Query: query, Limit: limit,
		Statuses: []Status{Waiting, Ready, Assigned, Running, Paused, Blocked, InReview, Approved, Completed, Failed, Aborted}})
	return list, err
}

// Stats are the numbers of a workspace.
type Stats struct {
	ByStatus       map[Status]int
	OldestReadyAge *time.Duration
	ExpiredLeases  int
	Products       []ProductStats
}

// ProductStats are the numbers of one product.
type ProductStats struct {
	Product  string
	ByStatus map[Status]int
}

// Stats counts the workspace's jobs, from the counters.
func (s *Service) Stats(ctx context.Context, who tenancy.Principal) (stats Stats, err error) {
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		stats, err = statsTx(ctx, tx, who.Workspace)
		return err
	})
	return stats, err
}

// Key names a request for this, so that it may be sent again. What is requested
// may hold secrets, which nobody can find from what is kept of it.
func (s *Service) Key(name string, asked []byte) *idempotency.Key {
	return &idempotency.Key{Name: name, Digests: s.Secrets.Digests(asked)}
}

// KeepKey takes the key of a request that changes many jobs, each by itself with its part
// of the key. IdempotencyKeyReused where it came with another request.
func (s *Service) KeepKey(ctx context.Context, who tenancy.Principal, key *idempotency.Key) error {
	return s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		_, err := idempotency.TakeTx(ctx, tx, who, key, struct{}{})
		return err
	})
}
