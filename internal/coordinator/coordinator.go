package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/leadership"
	"github.com/fleetboard/fleetboard/internal/notifier"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	election = "coordinator"
	// maxLines bounds a page of the log, scanLines how many lines are scanned for
	// those of a level.
	maxLines  = 200
	scanLines = 5000
)

// Notifier wakes whoever waits for a topic, in every process.
type Notifier interface {
	Publish(topics ...string)
	Status() notifier.Status
}

// Service runs the loops of the one process that leads.
type Service struct {
	db       *db.DB
	election *leadership.Election
	work     Work
	wake     Notifier
	log      *slog.Logger
	instance string
}

// New returns the coordinator of the process that calls itself instance. Run makes it a candidate;
// without it the service only reports what others do.
func New(d *db.DB, instance string, work Work, wake Notifier, log *slog.Logger) *Service {
	return &Service{db: d, election: leadership.New(d, election, instance, log), work: work, wake: wake, log: log, instance: instance}
}

// Run is a candidate until ctx ends, and does the coordinator's work while this process leads.
// It returns nil.
func (s *Service) Run(ctx context.Context) error { return s.election.Run(ctx, s.lead) }

// Status is who coordinates and what was done in this term.
type Status leadership.Leader

// freshFor is how old the last cycle of a coordinator that works may be.
const freshFor = time.Minute

// Healthy reports whether somebody leads and has done something in the last minute.
func (s Status) Healthy() bool {
	return s.Active && s.LastCycleAt != nil && s.Now.Sub(*s.LastCycleAt) < freshFor
}

// Status reads who leads.
func (s *Service) Status(ctx context.Context) (Status, error) {
	leader, err := s.election.Leader(ctx)
	return Status(leader), err
}

// Transport returns how the wake-ups of other processes reach this one.
func (s *Service) Transport() notifier.Status { return s.wake.Status() }

// LogLine is a line of the coordinator's log.
type LogLine struct {
	ID         int64           `json:"id"`
	At         time.Time       `json:"at"`
	InstanceID string          `json:"instance_id"`
	Term       int64           `json:"term"`
	Level      string          `json:"level"`
	Message    string          `json:"message"`
	Details    json.RawMessage `json:"details"`
}

// LogFilter selects the lines that Logs reads.
type LogFilter struct {
	Level  string // this level and those above; "" is every level
	Before int64  // lines older than the one with this id; 0 begins with the newest
	Limit  int
}

// levels are the levels of the log, the least severe first.
var levels = []string{"DEBUG", levelInfo, levelWarning, "ERROR", "CRITICAL"}

// Logs reads what was done for a workspace and for the server as a whole,
// newest first, and the id before which the next page begins, 0 at the end. Where few
// lines have the level there may be fewer than the limit, even none, with the id of a
// next page. Fault: Forbidden unless who may run the fleet.
func (s *Service) Logs(ctx context.Context, who tenancy.Principal, f LogFilter) (list []LogLine, next int64, err error) {
	if !who.Can(tenancy.RunFleet) {
		return nil, 0, fault.New(fault.Forbidden, "Only owners and admins read what the coordinator did.")
	}
	if f.Before <= 0 {
		f.Before = math.MaxInt64
	}
	limit := min(max(f.Limit, 1), maxLines)
	lowest := max(slices.Index(levels, f.Level), 0)
	scan := limit + 1
	if lowest > 0 {
		scan = scanLines
	}
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		lines, err := linesTx(ctx, tx, who.Workspace, f.Before, levels[lowest:], scan, limit)
		list, next = pageOfLines(lines, levels[lowest:], limit, scan)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("coordinator log: %w", err)
	}
	return list, next, nil
}

// pageOfLines returns the lines that have one of the levels, and the id before which the next
// page begins.
func pageOfLines(lines []scannedLine, levels []string, limit, scan int) (list []LogLine, next int64) {
	for _, l := range lines {
		if len(list) == limit {
			return list, list[limit-1].ID
		}
		if slices.Contains(levels, l.Level) {
			list = append(list, l.LogLine)
		}
		if l.scanned == scan {
			next = l.ID
		}
	}
	return list, next
}
