package db

import "time"

// Connections is how the pool of this process stands.
type Connections struct {
	InUse, Idle, Most int
	// Waits is how often a transaction waited for a free connection, and Waited for how long in all.
	Waits  int64
	Waited time.Duration
}

// Connections reads how the pool stands, without the database.
func (d *DB) Connections() Connections {
	s := d.pool.Stat()
	return Connections{InUse: int(s.AcquiredConns()), Idle: int(s.IdleConns()), Most: int(s.MaxConns()),
		Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime()}
}
