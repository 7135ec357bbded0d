package scaler

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/fleetboard/fleetboard/api"
)

const (
	// templateAge is how old what is known of a pool's template may be.
	templateAge = 15 * time.Second
	// quickEnd is within which time after its start a worker that ends counts as broken.
	quickEnd = time.Minute
	// longestRest is the longest rest after starts of broken workers.
	longestRest = 5 * time.Minute
	// unwritten is how long a process may take to write its id down.
	unwritten = 5 * time.Second
	// warnEvery is how often the same trouble is said.
	warnEvery = time.Minute
)

// group is a pool and its workers here.
type group struct {
	Options

	pool, command, dir string
	workers            []*worker

	coolDown  time.Duration
	known     time.Time // when coolDown was read
	surplus   time.Time // since when there are too many, zero where there are not
	broken    int       // workers in a row that ended soon after their start
	restUntil time.Time
	warned    string
	warnedAt  time.Time
}

// step looks at the workers and at the demand once, and does what follows.
func (g *group) step(ctx context.Context, now time.Time) error {
	if err := g.observe(ctx, now); err != nil {
		return err
	}
	demand, err := g.demand(ctx, now)
	if err != nil {
		return err
	}
	if err := g.grow(ctx, now, demand); err != nil {
		return err
	}
	if err := g.shrink(ctx, now, demand); err != nil {
		return err
	}
	return g.end(ctx, now)
}

// demand reads what the pool needs: nothing where it is gone or has no command any more.
func (g *group) demand(ctx context.Context, now time.Time) (api.PoolDemand, error) {
	nothing := api.PoolDemand{Factories: g.count(running)}
	if g.command == "" {
		g.coolDown = 0
		return nothing, nil
	}
	d, err := g.Server.Demand(ctx, g.pool)
	if errors.Is(err, ErrNotThere) {
		g.warn(errors.New("the server has no such pool"))
		g.coolDown, g.known = 0, time.Time{}
		return nothing, nil
	}
	if err != nil || now.Sub(g.known) < templateAge {
		return d, err
	}
	p, err := g.Server.Pool(ctx, g.pool)
	if err == nil {
		g.coolDown, g.known = time.Duration(p.CoolDownSeconds)*time.Second, now
	}
	return d, err
}

// observe takes note of workers that have ended.
func (g *group) observe(ctx context.Context, now time.Time) error {
	var left []*worker
	var failed error
	for _, w := range g.workers {
		if !w.hasEnded(now) {
			left = append(left, w)
			continue
		}
		if err := g.bury(ctx, w, now); err != nil {
			failed, left = err, append(left, w)
		}
	}
	g.workers = left
	return failed
}

// hasEnded reports whether the worker's process is gone, and why as far as that is known.
func (w *worker) hasEnded(now time.Time) bool {
	if w.gone {
		return true
	}
	if w.ended != nil {
		select {
		case w.why = <-w.ended:
			w.gone = true
		default:
		}
		return w.gone
	}
	p, written := readProcess(w.dir)
	switch {
	case written && p.alive():
		w.seen = true
	case written:
		w.gone, w.why = true, "It ended while no scaler was there."
		if w.seen {
			w.why = "Its process ended."
		}
	case now.Sub(w.StartedAt) > unwritten:
		w.gone = true
		w.why = "It was never started."
	}
	return w.gone
}

// bury says that a worker has ended, and forgets it.
func (g *group) bury(ctx context.Context, w *worker, now time.Time) error {
	step := api.ScalingStepEnded
	if w.Phase == running {
		step = api.ScalingStepFailed
	}
	if err := g.Server.Scale(ctx, g.pool, step, w.Factory, w.why); err != nil && !errors.Is(err, ErrNotThere) {
		return err
	}
	if w.Phase != running {
		if err := g.Server.Drain(ctx, w.Factory, false); err != nil && !errors.Is(err, ErrNotThere) {
			return err
		}
	}
	if step == api.ScalingStepFailed {
		g.Log.Warn("a worker has ended by itself", "pool", g.pool, "factory", w.Factory, "why", w.why,
			"after", now.Sub(w.StartedAt).Round(time.Second))
	} else {
		g.Log.Info("a worker has ended", "pool", g.pool, "factory", w.Factory)
	}
	g.rest(now, step == api.ScalingStepFailed && now.Sub(w.StartedAt) < quickEnd)
	return w.forget()
}

// rest puts the next start off after workers that end soon after their start: twice as long
// each time.
func (g *group) rest(now time.Time, soon bool) {
	if !soon {
		g.broken = 0
		return
	}
	g.broken++
	g.restUntil = now.Add(min(time.Second<<min(g.broken, 10), longestRest))
}

// grow lets draining workers go on, which is possible at the pool's maximum, too, and starts others.
func (g *group) grow(ctx context.Context, now time.Time, d api.PoolDemand) error {
	lacking := d.Value - d.Factories - d.Starting
	for _, w := range g.workers {
		if lacking <= 0 || w.Phase != draining {
			continue
		}
		if err := g.Server.Drain(ctx, w.Factory, false); err != nil {
			return err
		}
		if err := g.Server.Scale(ctx, g.pool, api.ScalingStepUndrained, w.Factory, ""); err != nil {
			return err
		}
		if err := w.enter(running, now); err != nil {
			return err
		}
		lacking--
	}
	for n := min(lacking, d.Start); n > 0 && len(g.workers) < g.Most && !now.Before(g.restUntil); n-- {
		if err := g.start(ctx, now); err != nil {
			if errors.Is(err, ErrNotNeeded) {
				return nil
			}
			return err
		}
	}
	return nil
}

// start starts a worker in the first slot that is free.
func (g *group) start(ctx context.Context, now time.Time) error {
	w := &worker{Phase: running, StartedAt: now, Since: now, slot: g.freeSlot()}
	w.Factory, w.dir = g.factoryName(w.slot), filepath.Join(g.dir, strconv.Itoa(w.slot))
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return err
	}
	if err := w.write(); err != nil {
		return err
	}
	if err := g.Server.Scale(ctx, g.pool, api.ScalingStepStarting, w.Factory, ""); err != nil {
		return errors.Join(err, w.forget())
	}
	environ := append(append([]string{}, g.Environ...), "FLEETBOARD_POOL="+g.pool, "FLEETBOARD_FACTORY="+w.Factory)
	cmd, err := launch(w.dir, g.command, environ)
	if err != nil {
		g.rest(now, true)
		return errors.Join(err, g.Server.Scale(ctx, g.pool, api.ScalingStepFailed, w.Factory, "Its command cannot be run."), w.forget())
	}
	g.Log.Info("starts a worker", "pool", g.pool, "factory", w.Factory)
	w.ended = make(chan string, 1)
	go func() {
		_ = cmd.Wait()
		w.ended <- "Its process ended: " + cmd.ProcessState.String() + "."
	}()
	g.workers = append(g.workers, w)
	return nil
}

func (g *group) freeSlot() int {
	for slot := 1; ; slot++ {
		free := true
		for _, w := range g.workers {
			free = free && w.slot != slot
		}
		if free {
			return slot
		}
	}
}

// shrink drains workers once too many have been there for as long as the pool's cool-down: those
// without a job first.
func (g *group) shrink(ctx context.Context, now time.Time, d api.PoolDemand) error {
	n := d.Factories + d.Starting - d.Value
	if n <= 0 || g.count(running) == 0 {
		g.surplus = time.Time{}
		return nil
	}
	if g.surplus.IsZero() {
		g.surplus = now
	}
	if now.Sub(g.surplus) < g.coolDown {
		return nil
	}
	type candidate struct {
		w    *worker
		jobs int
		live bool
	}
	var all []candidate
	for _, w := range g.workers {
		if w.Phase != running {
			continue
		}
		jobs, live, err := g.Server.Taken(ctx, w.Factory)
		if err != nil && !errors.Is(err, ErrNotThere) {
			return err
		}
		all = append(all, candidate{w, jobs, live})
	}
	for busy := 0; n > 0 && len(all) > 0; busy++ {
		var rest []candidate
		for _, c := range all {
			if c.jobs > busy || n == 0 {
				rest = append(rest, c)
				continue
			}
			n--
			if err := g.drain(ctx, c.w, now, c.live); err != nil {
				return err
			}
		}
		all = rest
	}
	g.surplus = time.Time{}
	return nil
}

// drain gives a worker no jobs any more; one that has not registered is told to end.
func (g *group) drain(ctx context.Context, w *worker, now time.Time, live bool) error {
	if !live {
		return w.enter(stopping, now)
	}
	if err := g.Server.Drain(ctx, w.Factory, true); err != nil {
		return err
	}
	if err := g.Server.Scale(ctx, g.pool, api.ScalingStepDraining, w.Factory, ""); err != nil && !errors.Is(err, ErrNotThere) {
		return err
	}
	g.Log.Info("drains a worker", "pool", g.pool, "factory", w.Factory)
	return w.enter(draining, now)
}

// end tells draining workers without jobs to end, and kills those that do not.
func (g *group) end(ctx context.Context, now time.Time) error {
	for _, w := range g.workers {
		if w.Phase == draining {
			jobs, _, err := g.Server.Taken(ctx, w.Factory)
			if err != nil && !errors.Is(err, ErrNotThere) {
				return err
			}
			if jobs > 0 {
				continue
			}
			if err := w.enter(stopping, now); err != nil {
				return err
			}
		}
		if w.Phase != stopping {
			continue
		}
		p, written := readProcess(w.dir)
		if due := time.Duration(w.dying) * g.Patience; !written || now.Sub(w.Since) < due {
			continue
		}
		if w.dying++; w.dying > 2 {
			p.signal(syscall.SIGKILL, true)
		} else {
			p.signal(syscall.SIGTERM, false)
		}
	}
	return nil
}

func (g *group) count(p phase) (n int) {
	for _, w := range g.workers {
		if w.Phase == p {
			n++
		}
	}
	return n
}

// warn says what went wrong, the same once a minute.
func (g *group) warn(err error) {
	now := time.Now()
	if err.Error() == g.warned && now.Sub(g.warnedAt) < warnEvery {
		return
	}
	g.warned, g.warnedAt = err.Error(), now
	g.Log.Warn("cannot scale now", "pool", g.pool, "error", err)
}
