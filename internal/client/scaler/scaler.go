package scaler

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/fleetboard/fleetboard/api"
)

// Server is what a scaler asks of the server.
type Server interface {
	Pool(ctx context.Context, name string) (api.Pool, error)
	Demand(ctx context.Context, name string) (api.PoolDemand, error)
	// Scale says what is done with a factory. A start that is not needed is ErrNotNeeded.
	Scale(ctx context.Context, pool string, step api.ScalingStep, factory, detail string) error
	// Taken returns how many jobs a factory has, and whether one of its agents lives.
	Taken(ctx context.Context, factory string) (jobs int, live bool, err error)
	Drain(ctx context.Context, factory string, yes bool) error
}

// What a Server may answer.
var (
	ErrNotNeeded = errors.New("no further factory is needed")
	ErrNotThere  = errors.New("it is not there")
)

// Options say what is scaled.
type Options struct {
	Server Server
	// Commands start a worker of a pool, by the pool's name.
	Commands map[string]string
	// State is a directory that no other scaler uses.
	State string
	// Host begins the names of factories, behind the pool's.
	Host string
	// Environ is that of the workers.
	Environ []string
	// Every is how often the demand is read, Most how many workers one pool has here at most.
	Every time.Duration
	Most  int
	// Patience is how long a worker may take to end until it is told again, and then killed.
	Patience time.Duration
	Log      *slog.Logger
}

// maxFactoryName is how many characters the name of a factory may have.
const maxFactoryName = 64

// Run scales until ctx ends. The workers go on then: the next scaler finds them.
func Run(ctx context.Context, o Options) error {
	if err := os.MkdirAll(o.State, 0o700); err != nil {
		return err
	}
	// No pool has a name that begins with a dot.
	lock := flock.New(filepath.Join(o.State, ".lock"))
	if held, err := lock.TryLock(); err != nil || !held {
		return errors.Join(fmt.Errorf("another scaler uses %s", o.State), err)
	}
	defer func() { _ = lock.Unlock() }()
	groups, err := open(o)
	if err != nil {
		return err
	}
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	for {
		for _, g := range groups {
			if err := g.step(ctx, time.Now()); err != nil && ctx.Err() == nil {
				g.warn(err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// open returns the pools that have a command, and those that have workers from before and none
// now, whose workers end.
func open(o Options) ([]*group, error) {
	names := map[string]bool{}
	for name := range o.Commands {
		names[name] = true
	}
	entries, err := os.ReadDir(o.State)
	for _, e := range entries {
		if e.IsDir() {
			names[e.Name()] = true
		}
	}
	if err != nil {
		return nil, err
	}
	var groups []*group
	for name := range names {
		g := &group{Options: o, pool: name, command: o.Commands[name], dir: filepath.Join(o.State, name)}
		if g.workers, err = adopt(g.dir); err != nil {
			return nil, err
		}
		if g.command == "" && len(g.workers) == 0 {
			continue
		}
		if len(g.workers) > 0 {
			o.Log.Info("goes on with workers that were started before", "pool", name, "workers", len(g.workers))
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// factoryName returns the name of a worker's factory: of at most 64 characters, the same for the
// same slot, so that what it has cloned is there again, and another one for each pool and host.
func (g *group) factoryName(slot int) string {
	end := fmt.Sprintf("-%d", slot)
	name := g.pool + "-" + strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, g.Host)
	if most := maxFactoryName - len(end); len(name) > most {
		sum := fmt.Sprintf("-%x", sha256.Sum256([]byte(name)))[:9]
		name = name[:most-len(sum)] + sum
	}
	return name + end
}
