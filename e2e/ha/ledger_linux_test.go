package ha

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/callertest"
)

// lease is a job in the hands of an agent.
type lease struct {
	job   string
	epoch int64
}

// entry is what an agent reported that something cost, in billionths of a dollar.
type entry struct {
	nanos  int64
	booked bool // it was answered
}

// success is a call that was answered: one try of it.
type success struct{ begun, ended time.Time }

// ledger is what the clients were answered.
type ledger struct {
	limited atomic.Int64 // answers that there were too many requests

	mu       sync.Mutex
	jobs     map[string]string // title by key
	claims   map[lease]string  // agent
	ends     map[lease]string
	entries  map[string]entry
	messages map[string]bool // whether it was answered
	refusals map[string]int
	faults   []string
	taken    []success
	handed   []success
}

func newLedger() *ledger {
	return &ledger{jobs: map[string]string{}, claims: map[lease]string{}, ends: map[lease]string{}, entries: map[string]entry{},
		messages: map[string]bool{}, refusals: map[string]int{}}
}

// note changes the ledger.
func (l *ledger) note(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func (l *ledger) fault(format string, args ...any) {
	l.note(func() { l.faults = append(l.faults, fmt.Sprintf(format, args...)) })
}

// created notes a job whose creation was answered.
func (l *ledger) created(key, title string) {
	l.note(func() { l.jobs[key] = title })
}

func (l *ledger) claimed(at lease, agent string, begun time.Time) {
	l.note(func() {
		l.taken = append(l.taken, success{begun, time.Now()})
		if other, is := l.claims[at]; is {
			l.faults = append(l.faults, fmt.Sprintf("%s, epoch %d, was given to %s and to %s", at.job, at.epoch, other, agent))
		}
		l.claims[at] = agent
	})
}

func (l *ledger) completed(at lease, agent string, begun time.Time) {
	l.note(func() {
		l.handed = append(l.handed, success{begun, time.Now()})
		l.ends[at] = agent
	})
}

// refused notes a report that was answered with a refusal.
func (l *ledger) refused(what string, at lease, answer callertest.Reply) {
	l.note(func() {
		l.refusals[what+" "+callertest.Code(answer)]++
		l.faults = append(l.faults, fmt.Sprintf("the %s of %s, epoch %d, was refused: %d %s", what, at.job, at.epoch, answer.StatusCode(), answer.GetBody()))
	})
}

// spend returns an entry of usage that is about to be reported.
func (l *ledger) spend(at lease, what string) []api.UsageEntry {
	id, nanos := fmt.Sprintf("%s-%d-%s", at.job, at.epoch, what), 1+rand.Int64N(1_000_000_000)
	l.note(func() { l.entries[id] = entry{nanos: nanos} })
	cost, _ := json.Marshal(fmt.Sprintf("0.%09d", nanos))
	if nanos == 1_000_000_000 {
		cost = []byte(`"1"`)
	}
	return []api.UsageEntry{{ID: id, At: time.Now(), Provider: provider, Model: model, InputTokens: 1000, OutputTokens: 500, CostUSD: cost}}
}

func (l *ledger) booked(entries []api.UsageEntry) {
	l.note(func() {
		for _, e := range entries {
			l.entries[e.ID] = entry{l.entries[e.ID].nanos, true}
		}
	})
}

func (l *ledger) sending(id string) { l.note(func() { l.messages[id] = false }) }

func (l *ledger) sent(id string) { l.note(func() { l.messages[id] = true }) }

// judge holds the ledger against the database.
func (l *ledger) judge(ctx context.Context, conn *pgx.Conn) {
	l.judgeJobs(ctx, conn)
	l.judgeAttempts(ctx, conn)
	l.judgeMoney(ctx, conn)
	l.judgeMessages(ctx, conn)
}

// query reads rows and gives each to see; a failure is a fault.
func query[T any](ctx context.Context, l *ledger, conn *pgx.Conn, sql string, see func(T)) {
	rows, err := conn.Query(ctx, sql)
	if err == nil {
		var list []T
		list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[T])
		for _, row := range list {
			see(row)
		}
	}
	if err != nil {
		l.fault("%s: %v", sql, err)
	}
}

// judgeJobs: each job that was answered is there once and completed.
func (l *ledger) judgeJobs(ctx context.Context, conn *pgx.Conn) {
	seen, titles := map[string]string{}, map[string]int{}
	query(ctx, l, conn, `SELECT key, title, status FROM job`, func(j struct{ Key, Title, Status string }) {
		seen[j.Key] = j.Title
		if titles[j.Title]++; titles[j.Title] > 1 {
			l.fault("%q was created twice", j.Title)
		}
		if j.Status != "completed" {
			l.fault("%s is %s", j.Key, j.Status)
		}
	})
	for key, title := range l.jobs {
		if seen[key] != title {
			l.fault("%s (%s) was answered and is lost", key, title)
		}
	}
}

// judgeAttempts: each claim that was answered is an attempt of its agent, and each completion its end.
func (l *ledger) judgeAttempts(ctx context.Context, conn *pgx.Conn) {
	type attempt struct {
		Key, Agent, Outcome string
		Epoch               int64
	}
	seen, completed := map[lease]attempt{}, map[string]int{}
	query(ctx, l, conn, `SELECT j.key, a.agent, a.outcome, a.epoch FROM attempt a JOIN job j ON j.id = a.job_id`, func(a attempt) {
		seen[lease{a.Key, a.Epoch}] = a
		if a.Outcome == "completed" {
			completed[a.Key]++
		}
	})
	for at, agent := range l.claims {
		if seen[at].Agent != agent {
			l.fault("the claim of %s, epoch %d, by %s was answered and is lost: %+v", at.job, at.epoch, agent, seen[at])
		}
	}
	for at, agent := range l.ends {
		if a := seen[at]; a.Agent != agent || a.Outcome != "completed" {
			l.fault("the completion of %s, epoch %d, by %s was answered and is lost: %+v", at.job, at.epoch, agent, a)
		}
	}
	for key, n := range completed {
		if n > 1 {
			l.fault("%s was completed %d times", key, n)
		}
	}
}

// judgeMoney: each entry that was answered is booked once at its cost, and budgets have settled
// exactly what is booked.
func (l *ledger) judgeMoney(ctx context.Context, conn *pgx.Conn) {
	booked, sum := map[string]bool{}, int64(0)
	query(ctx, l, conn, `SELECT j.key || '-' || u.epoch || '-' || split_part(u.id, '-', 4), u.id, u.charged_nanos FROM usage_entry u JOIN job j ON j.id = u.job_id`,
		func(u struct {
			Lease, ID string
			Nanos     int64
		}) {
			e, known := l.entries[u.ID]
			switch {
			case !known || u.Lease != u.ID:
				l.fault("nobody reported the usage %s of %s", u.ID, u.Lease)
			case u.Nanos != e.nanos:
				l.fault("the usage %s of %d is booked as %d", u.ID, e.nanos, u.Nanos)
			case booked[u.ID]:
				l.fault("the usage %s is booked twice", u.ID)
			}
			booked[u.ID] = true
			sum += e.nanos
		})
	for id, e := range l.entries {
		if e.booked && !booked[id] {
			l.fault("the usage %s was answered and is lost", id)
		}
	}
	settled := int64(0)
	query(ctx, l, conn, `SELECT settled_nanos, reserved_nanos FROM budget_period`, func(p struct{ Settled, Reserved int64 }) {
		settled += p.Settled
		if p.Reserved != 0 {
			l.fault("%d billionths are reserved though nobody works", p.Reserved)
		}
	})
	if settled != sum {
		l.fault("budgets have settled %d billionths of a dollar; %d are booked", settled, sum)
	}
}

// judgeMessages: each message that was answered is there once.
func (l *ledger) judgeMessages(ctx context.Context, conn *pgx.Conn) {
	seen := map[string]int{}
	query(ctx, l, conn, `SELECT id::text, payload->>'note' FROM message WHERE type = 'custom.note'`, func(m struct{ ID, Note string }) {
		if seen[m.ID]++; m.ID != m.Note || seen[m.ID] > 1 {
			l.fault("the message %s says %s, and is there %d times", m.ID, m.Note, seen[m.ID])
		}
	})
	for id, sent := range l.messages {
		if sent && seen[id] == 0 {
			l.fault("the message %s was answered and is lost", id)
		}
	}
}

// counts says how much was answered.
func (l *ledger) counts() string {
	booked, sent, nanos := 0, 0, int64(0)
	for _, e := range l.entries {
		if e.booked {
			booked, nanos = booked+1, nanos+e.nanos
		}
	}
	for _, is := range l.messages {
		if is {
			sent++
		}
	}
	return fmt.Sprintf("answered: %d jobs, %d claims, %d completions, %d usage entries of $%d.%09d, %d messages; %d times too many requests",
		len(l.jobs), len(l.claims), len(l.ends), booked, nanos/1_000_000_000, nanos%1_000_000_000, sent, l.limited.Load())
}

// verdict joins what is wrong.
func (l *ledger) verdict() string {
	if len(l.faults) > 20 {
		return strings.Join(l.faults[:20], "\n") + fmt.Sprintf("\nand %d more", len(l.faults)-20)
	}
	return strings.Join(l.faults, "\n")
}
