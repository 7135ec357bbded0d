package recovery

import (
	"log/slog"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// Service takes work back and lets go on what waits for nothing any more.
type Service struct {
	db      *db.DB
	jobs    *jobs.Service
	effects *lease.Effects
	log     *slog.Logger
	expired *expiredLeases
}

// New returns the recovery of the jobs kept in d.
func New(d *db.DB, list *jobs.Service, effects *lease.Effects, log *slog.Logger) *Service {
	s := &Service{db: d, jobs: list, effects: effects, log: log}
	s.expired = newExpiredLeases(s.lapsed)
	return s
}
