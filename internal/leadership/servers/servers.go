// Package servers knows which servers of a database live: each writes a row of its own every five
// seconds, and reads those of the others. One that ends takes its row away; one that was killed
// counts for fifteen seconds more.
package servers

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/runloop"
)

const (
	// seeEvery is how often a server says that it lives.
	seeEvery = 5 * time.Second
	// Lately is for how long that is believed.
	Lately = 15 * time.Second
)

// NewName returns a name that no other life of a server has: host, process id and a few random
// letters.
func NewName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return fmt.Sprintf("%.64s/%d/%s", host, os.Getpid(), strings.ToLower(rand.Text()[:6]))
}

// Server is a server that lives.
type Server struct {
	Name, Version string
	Since         time.Time
}

// List is the servers of a database, as one of them knows them. It is safe for concurrent use.
type List struct {
	db            *db.DB
	name, version string
	log           *slog.Logger
	live          atomic.Pointer[[]Server]
}

// New returns the list of a server that calls itself name. Until Run has read it it is empty.
func New(d *db.DB, name, version string, log *slog.Logger) *List {
	return &List{db: d, name: name, version: version, log: log}
}

// Run says that this server lives, and reads who else does, until ctx ends. It returns nil.
func (l *List) Run(ctx context.Context) error {
	err := runloop.Run(ctx, l.log, runloop.Loop{Name: "servers", Every: seeEvery, Jitter: time.Second / 2, Do: l.see})
	l.end(ctx)
	return err
}

// Live returns the servers that lived when they were last read, the oldest first. While the
// database is away it stays as it was. A nil list has none.
func (l *List) Live() []Server {
	if l == nil {
		return nil
	}
	if live := l.live.Load(); live != nil {
		return *live
	}
	return nil
}

// Count returns how many servers live: one at least.
func (l *List) Count() int { return max(len(l.Live()), 1) }
