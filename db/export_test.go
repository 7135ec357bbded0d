package db

import (
	"maps"
	"slices"
)

// KnownConstraints returns the constraints that Fault has a refusal for.
func KnownConstraints() []string { return slices.Sorted(maps.Keys(constraints)) }

// Stat counts the pool's connections: in use, idle, and all.
func (d *DB) Stat() (acquired, idle, total int32) {
	s := d.pool.Stat()
	return s.AcquiredConns(), s.IdleConns(), s.TotalConns()
}
