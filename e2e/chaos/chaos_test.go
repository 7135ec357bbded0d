package chaos

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/e2e/envtest"
)

const (
	servers, agents = 3, 10
	// settleLimit is how long the last jobs may take after the damage is done: the
	// longest lease, the grace of a directive, and some.
	settleLimit = 2 * time.Minute
	// maxFaults is how many faults are reported.
	maxFaults = 12
)

// Three servers and ten agents work while processes are killed and stopped,
// connections cut and PostgreSQL is crashed. Afterwards every job has ended
// exactly once, and what anybody was answered is there (P1, P2, P3, P5).
func TestChaos(t *testing.T) {
	seconds := envtest.Number(t, "FLEETBOARD_CHAOS_SECONDS", 60)
	seed := envtest.Number(t, "FLEETBOARD_CHAOS_SEED", rand.Uint64N(1_000_000))
	t.Logf("FLEETBOARD_CHAOS_SEED=%d, %d seconds", seed, seconds)
	length := time.Duration(seconds) * time.Second * 7 / 10
	ctx, cancel := context.WithTimeout(t.Context(), 2*length+settleLimit+2*time.Minute)
	defer cancel()

	s := newCluster(ctx, t, servers, agents)
	m := newMonkey(t, seed, s.postgres, s.webs, s.workers)
	var damage sync.WaitGroup
	damage.Go(func() { m.run(ctx, length, 1+seconds/200) })
	tending, stopTending := context.WithCancel(ctx)
	defer stopTending()
	tended := s.submitFor(tending, length)
	damage.Wait()
	s.settle(ctx, settleLimit)
	s.alive(ctx)
	stopTending()
	tended.Wait()
	s.quiet()

	v := s.judge(ctx)
	t.Log(report(seed, v, m, s.person.lines, s.diaries()))
	// P4, plus the time in which PostgreSQL and the servers were away.
	if wait := freedAgain(v.jobs, m.kills).slowest(); wait > longestSilence+30*time.Second {
		v.fault("a killed agent's job was held for %s; no agent may be silent for more than %s", wait, longestSilence)
	}
	for i, f := range v.faults {
		if i == maxFaults {
			t.Errorf("and %d more", len(v.faults)-i)
			break
		}
		t.Error(f)
	}
	if t.Failed() {
		t.Logf("again with FLEETBOARD_CHAOS_SEED=%d", seed)
	}
}

// judge compares all that was answered with all that is there.
func (s *cluster) judge(ctx context.Context) *verdict {
	v := &verdict{}
	err := s.postgres.ask(ctx, func(conn *pgx.Conn) (err error) {
		if v.jobs, err = readRecords(ctx, conn); err != nil {
			return err
		}
		return v.standing(ctx, conn)
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, r := range v.jobs {
		v.walk(r)
	}
	v.repoAtATime()
	v.ending(s.person.jobs, s.person.lines)
	for _, l := range s.diaries() {
		v.agentLine(l)
	}
	for _, l := range s.person.lines {
		v.personLine(l)
	}
	for _, w := range s.webs {
		if text, err := os.ReadFile(w.log); err != nil || bytes.Contains(text, []byte("panic")) {
			v.fault("a server panicked, see %s (%v)", filepath.Base(w.log), err)
		}
	}
	for _, check := range []string{"audit", "verify-log"} {
		if err := s.run(ctx, check); err != nil {
			v.fault("%v", err)
		}
	}
	return v
}
