package chaos

import (
	"context"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/e2e/callertest"
)

// monkey does the damage. What it does, to whom and for how long is drawn from
// its seed in one order; how that meets with what the others do is chance.
type monkey struct {
	t        *testing.T
	draw     *rand.Rand
	postgres *postgres
	webs     []*web
	workers  []*worker

	busy  sync.WaitGroup
	paws  chan struct{} // how many agents may be away at once
	mu    sync.Mutex
	tally map[string]int
	// kills are the deaths of agents, crashes those of PostgreSQL.
	kills   []kill
	crashes []crash
}

type kill struct {
	agent string
	at    time.Time
}

type crash struct {
	at, started, back time.Time
}

// away is how many agents may be dead or stopped at once.
const away = 5

func newMonkey(t *testing.T, seed uint64, p *postgres, webs []*web, workers []*worker) *monkey {
	return &monkey{t: t, draw: rand.New(rand.NewPCG(seed, 0)), postgres: p, webs: webs, workers: workers,
		paws: make(chan struct{}, away), tally: map[string]int{}}
}

// run does damage for that length of time, and returns when all that it broke
// is whole again.
func (m *monkey) run(ctx context.Context, length time.Duration, crashes int) {
	begin := time.Now()
	var due []time.Duration
	for i := range crashes {
		due = append(due, time.Duration((float64(i)+0.4+0.4*m.draw.Float64())/float64(crashes)*float64(length)))
	}
	for time.Since(begin) < length && ctx.Err() == nil {
		if callertest.Rest(ctx, m.between(300*time.Millisecond, 1500*time.Millisecond)) != nil {
			break
		}
		if len(due) > 0 && time.Since(begin) > due[0] {
			due = due[1:]
			m.crash()
			continue
		}
		m.act(ctx)
	}
	m.busy.Wait()
}

func (m *monkey) between(least, most time.Duration) time.Duration {
	return least + time.Duration(m.draw.Int64N(int64(most-least)))
}

// act draws one deed with all that belongs to it.
func (m *monkey) act(ctx context.Context) {
	w, s := m.workers[m.draw.IntN(len(m.workers))], m.webs[m.draw.IntN(len(m.webs))]
	deed, soon, late := m.draw.IntN(20), m.between(200*time.Millisecond, 1500*time.Millisecond), m.between(2*time.Second, 6*time.Second)
	n := 1 + m.draw.IntN(12)
	switch {
	case deed < 3:
		m.killAgent(ctx, w, soon)
	case deed < 6:
		m.killAgent(ctx, w, w.silence()+late)
	case deed < 9:
		m.stopAgent(ctx, w, w.silence()+late)
	case deed < 11:
		m.killWeb(ctx, s, soon)
	case deed < 13:
		m.stopWeb(ctx, s, late)
	default:
		m.cutOff(ctx, n)
	}
}

func (m *monkey) count(what string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tally[what] += n
}

// onWorker does something to an agent that nothing is being done to.
func (m *monkey) onWorker(w *worker, do func()) {
	select {
	case m.paws <- struct{}{}:
	default:
		return
	}
	if !w.victim.TryLock() {
		<-m.paws
		return
	}
	m.busy.Go(func() {
		defer func() { <-m.paws }()
		defer w.victim.Unlock()
		do()
	})
}

// killAgent kills an agent; its next boot comes after a while.
func (m *monkey) killAgent(ctx context.Context, w *worker, after time.Duration) {
	m.onWorker(w, func() {
		m.mu.Lock()
		m.kills = append(m.kills, kill{w.Name, time.Now()})
		m.mu.Unlock()
		m.fine(w.proc.End(syscall.SIGKILL))
		m.count("agent killed", 1)
		_ = callertest.Rest(ctx, after)
		m.fine(w.launch())
	})
}

// stopAgent stops an agent for longer than it may be silent, and lets it go on
// as if nothing had been.
func (m *monkey) stopAgent(ctx context.Context, w *worker, length time.Duration) {
	m.onWorker(w, func() {
		w.proc.Signal(syscall.SIGSTOP)
		m.count("agent stopped", 1)
		_ = callertest.Rest(ctx, length)
		w.proc.Signal(syscall.SIGCONT)
	})
}

func (m *monkey) onWeb(s *web, do func()) {
	if !s.victim.TryLock() {
		return
	}
	m.busy.Go(func() {
		defer s.victim.Unlock()
		do()
	})
}

func (m *monkey) killWeb(ctx context.Context, s *web, after time.Duration) {
	m.onWeb(s, func() {
		m.fine(s.proc.End(syscall.SIGKILL))
		m.count("server killed", 1)
		_ = callertest.Rest(ctx, after)
		m.fine(s.launch(ctx))
	})
}

func (m *monkey) stopWeb(ctx context.Context, s *web, length time.Duration) {
	m.onWeb(s, func() {
		s.proc.Signal(syscall.SIGSTOP)
		m.count("server stopped", 1)
		_ = callertest.Rest(ctx, length)
		s.proc.Signal(syscall.SIGCONT)
	})
}

// cutOff ends connections to the database. Where it is away there are none.
func (m *monkey) cutOff(ctx context.Context, n int) {
	m.busy.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if ended, err := m.postgres.cutOff(ctx, n); err == nil {
			m.count("connection cut off", ended)
		}
	})
}

// crash ends PostgreSQL in one of the two bad ways, and starts it again.
func (m *monkey) crash() {
	how, after := syscall.SIGQUIT, m.between(100*time.Millisecond, 2*time.Second)
	if m.draw.IntN(2) == 0 {
		how = syscall.SIGKILL
	}
	c := crash{at: time.Now()}
	m.postgres.crash(how)
	m.count("PostgreSQL crashed", 1)
	_ = callertest.Rest(context.Background(), after)
	c.started = time.Now()
	m.postgres.start()
	c.back = time.Now()
	m.crashes = append(m.crashes, c)
}

// fine fails the test where the harness itself does not work.
func (m *monkey) fine(err error) {
	if err != nil && !m.t.Failed() {
		m.t.Error(err)
	}
}
