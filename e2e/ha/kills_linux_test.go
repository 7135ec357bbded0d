package ha

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"time"

	"github.com/fleetboard/fleetboard/e2e/callertest"
)

const (
	// killEvery is the time from one kill to the next.
	killEvery = 30 * time.Second
	// firstKill is how long agents work before it.
	firstKill = 10 * time.Second
	// awayFor is longer than the primary's lock lasts: another one leads when it comes back.
	awayFor = 25 * time.Second
)

// kill is something that was killed, and when.
type kill struct {
	what string
	at   time.Time
}

// deed kills something, and starts it again after some seconds.
type deed struct {
	what string
	// away is how long it stays dead; 0 is a few seconds.
	away time.Duration
	do   func(c *cluster, draw *rand.Rand) (restart func())
}

// deeds are all; a run begins with the first two.
var deeds = []deed{
	{"the primary's machine", awayFor, func(c *cluster, _ *rand.Rand) func() { return c.primaryGoes((*machine).kill) }},
	{"a server", 0, func(c *cluster, draw *rand.Rand) func() { return killed(c.servers[draw.IntN(three)]) }},
	{"HAProxy", 0, func(c *cluster, _ *rand.Rand) func() { return killed(c.proxy) }},
	{"a member of etcd", 0, func(c *cluster, draw *rand.Rand) func() { return killed(c.etcd[draw.IntN(three)]) }},
	{"the primary's PostgreSQL", 0, func(c *cluster, _ *rand.Rand) func() {
		return c.primaryGoes(func(m *machine) {
			if err := m.killPostgres(); err != nil {
				c.t.Error(err)
			}
		})
	}},
	{"a PgBouncer", 0, func(c *cluster, draw *rand.Rand) func() { return killed(c.poolers[draw.IntN(three)]) }},
	{"a standby's machine", 0, func(c *cluster, _ *rand.Rand) func() { return killed(c.standby()) }},
	{"the primary's machine, frozen", awayFor, func(c *cluster, _ *rand.Rand) func() {
		return c.primaryGoes(func(m *machine) { m.signalAll(c.t, syscall.SIGSTOP) })
	}},
}

// killed kills a part; restart starts it again.
func killed(p *part) (restart func()) {
	p.kill()
	return p.start
}

// primaryGoes does something to the machine that leads.
func (c *cluster) primaryGoes(do func(*machine)) (restart func()) {
	m := c.primary(c.t.Context())
	if m == nil {
		c.t.Error("no machine leads that could be killed")
		return func() {}
	}
	do(m)
	return func() {
		m.signalAll(c.t, syscall.SIGCONT)
		m.start()
	}
}

// standby returns a machine that follows.
func (c *cluster) standby() *part {
	leads := c.primary(c.t.Context())
	for _, m := range c.machines {
		if m != leads {
			return m.part
		}
	}
	return nil
}

// revivePoolers starts each PgBouncer again that ended by itself, as its service does (PgBouncer 1.18
// does so once in some minutes of failovers).
func (c *cluster) revivePoolers() {
	for _, p := range c.poolers {
		if p.child.Gone() {
			c.t.Logf("%s ended by itself and is started again, see %s", p.name, p.log)
			p.start()
		}
	}
}

// killFor kills something every 30 seconds for a length of time, and at least the first two deeds.
// It returns when all that it killed is back.
func (c *cluster) killFor(ctx context.Context, length time.Duration, seed uint64) (kills []kill) {
	draw := rand.New(rand.NewPCG(seed, 0))
	begin := time.Now()
	_ = callertest.Rest(ctx, firstKill)
	for n := 0; (n < 2 || time.Since(begin) < length) && ctx.Err() == nil && !c.t.Failed(); n++ {
		next := time.Now().Add(killEvery)
		d := deeds[n%len(deeds)]
		if n >= len(deeds) {
			d = deeds[draw.IntN(len(deeds))]
		}
		k := kill{d.what, time.Now()}
		restart := d.do(c, draw)
		kills = append(kills, k)
		_ = callertest.Rest(ctx, cmp.Or(d.away, 3*time.Second+time.Duration(draw.Int64N(int64(5*time.Second)))))
		restart()
		c.revivePoolers()
		c.awaitWhole(ctx)
		_ = callertest.Rest(ctx, time.Until(next))
	}
	return kills
}

// waits returns for each kill how long it was until a call that began after it was answered.
func waits(kills []kill, calls []success) (list []time.Duration) {
	for _, k := range kills {
		first := time.Time{}
		for _, s := range calls {
			if s.begun.After(k.at) && (first.IsZero() || s.ended.Before(first)) {
				first = s.ended
			}
		}
		if first.IsZero() {
			list = append(list, time.Duration(1<<62))
			continue
		}
		list = append(list, first.Sub(k.at))
	}
	return list
}

// report says what was killed, and how soon claims and completions were answered again. The goal
// is 20 s; how near it this machine comes depends on what else it does.
func report(kills []kill, l *ledger) string {
	var b strings.Builder
	claims, ends := waits(kills, l.taken), waits(kills, l.handed)
	for i, k := range kills {
		fmt.Fprintf(&b, "  %-32s first claim after %6.2f s, first completion after %6.2f s\n", k.what, claims[i].Seconds(), ends[i].Seconds())
	}
	fmt.Fprintf(&b, "  %-32s claims %s; completions %s", "all kills; the goal is 20 s", spread(claims), spread(ends))
	return b.String()
}
