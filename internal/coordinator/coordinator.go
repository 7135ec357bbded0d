package coordinator

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"time"

	"fleetboard/db"
	"fleetboard/db/dbsqlc"
	"fleetboard/internal/fault"
	"fleetboard/internal/leadership"
	"fleetboard/internal/tenancy"
)

var q = dbsqlc.New()

const (
	office = "coordinator"
	// maxLines bounds a page of the log.
	maxLines = 201
)

// Publisher wakes whoever waits for a topic, in every process.
type Publisher interface {
	Publish(topics ...string)
}

// Service runs the loops of the one process that leads.
type Service struct {
	db       *db.DB
	office   *leadership.Office
	work     Work
	wake     Publisher
	log      *slog.Logger
	instance string
}

// New returns the coordinator of this process. Run makes it a candidate; without
// it the service only tells what others do.
func New(d *db.DB, work Work, wake Publisher, log *slog.Logger) *Service {
	instance := instanceID()
	return &Service{db: d, office: leadership.New(d, office, instance, log), work: work, wake: wake, log: log, instance: instance}
}

// instanceID names this process so that no other has the name: host, process and
// a few letters by chance.
func instanceID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%.64s/%d/%s", host, os.Getpid(), strings.ToLower(rand.Text()[:6]))
}

// Run seeks the office until ctx ends, and does the coordinator's work while
// this process leads. It returns nil.
func (s *Service) Run(ctx context.Context) error { return s.office.Hold(ctx, s.lead) }

// Status is who coordinates and what was done in this term.
type Status struct {
	Active      bool   // somebody leads
	InstanceID  string // who leads, or led last; "" before the first
	Term        int64
	Since       *time.Time // when the term began
	ExpiresAt   *time.Time
	LastCycleAt *time.Time
	CycleCount  int64
	Stats       map[string]int64
	Now         time.Time // the database's clock
}

// freshFor is how old the last cycle of a coordinator that works may be.
const freshFor = time.Minute

// Healthy reports whether somebody leads and has done something in the last minute.
func (s Status) Healthy() bool {
	return s.Active && s.LastCycleAt != nil && s.Now.Sub(*s.LastCycleAt) < freshFor
}

// Status reads who leads.
func (s *Service) Status(ctx context.Context) (Status, error) {
	is, err := s.office.Standing(ctx)
	if err != nil || is.Term == 0 {
		return Status{Stats: map[string]int64{}}, err
	}
	return Status{Active: is.Active, InstanceID: is.Holder, Term: is.Term, Since: &is.Since, ExpiresAt: &is.ExpiresAt,
		LastCycleAt: is.LastCycleAt, CycleCount: is.Cycles, Stats: is.Stats, Now: is.Now}, nil
}

// LogLine is one thing that the coordinator did.
type LogLine struct {
	ID         int64
	At         time.Time
	InstanceID string
	Term       int64
	Level      string
	Message    string
	Details    json.RawMessage
}

// Logs reads what was done for a workspace and for the server as a whole,
// newest first: lines older than the one with id before, or the newest where
// before is 0. Forbidden unless who may run the fleet.
func (s *Service) Logs(ctx context.Context, who tenancy.Principal, before int64, limit int) ([]LogLine, error) {
	if !who.Can(tenancy.RunFleet) {
		return nil, fault.New(fault.Forbidden, "Only owners and admins read what the coordinator did.")
	}
	if before <= 0 {
		before = math.MaxInt64
	}
	var list []LogLine
	err := s.db.InWorkspace(ctx, who.Workspace, func(tx db.Tx) error {
		rows, err := q.CoordinatorLogList(ctx, tx, dbsqlc.CoordinatorLogListParams{WorkspaceID: who.Workspace, Before: before,
			MaxRows: int32(min(max(limit, 1), maxLines))})
		for _, r := range rows {
			list = append(list, LogLine{ID: r.ID, At: r.At, InstanceID: r.InstanceID, Term: r.Term, Level: r.Level,
				Message: r.Message, Details: r.Details})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("coordinator log: %w", err)
	}
	return list, nil
}
