package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/db/dbtest"
)

// leaderHealth is what /health/coordinator says.
type leaderHealth struct {
	Active     bool   `json:"active"`
	InstanceID string `json:"instance_id"`
	Term       int64  `json:"term"`
}

// coordinator reads from the server who leads; ok where somebody does and is alive.
func (s *server) coordinator() (is leaderHealth, ok bool) {
	answer, err := http.Get(s.url + "/health/coordinator")
	if err != nil {
		return is, false
	}
	defer func() { _ = answer.Body.Close() }()
	err = json.NewDecoder(answer.Body).Decode(&is)
	return is, err == nil && answer.StatusCode == http.StatusOK
}

// leads reports whether a process is the one that is named.
func (s *server) leads(is leaderHealth) bool {
	return strings.Contains(is.InstanceID, fmt.Sprintf("/%d/", s.cmd.Process.Pid))
}

// freeze stops a process in the middle of whatever it does; thaw lets it go on.
func (s *server) freeze() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.thaw)
}

func (s *server) thaw() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }

// hold lets an agent take n jobs for ten seconds, and never say anything again.
func hold(t *testing.T, agent *api.ClientWithResponses, n int) {
	t.Helper()
	answer, err := agent.ClaimJobsWithResponse(t.Context(), api.ClaimRequest{TTLSeconds: number(10), Max: number(n)})
	if err != nil || answer.JSON200 == nil || len(answer.JSON200.Jobs) != n {
		t.Fatalf("claim of %d jobs: %v %s", n, err, body(answer))
	}
}

// ledger reads numbers out of the database, past the server.
type ledger struct {
	t    *testing.T
	conn *pgx.Conn
}

func openLedger(t *testing.T, url string) ledger {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return ledger{t, conn}
}

func (l ledger) number(sql string, args ...any) (n int) {
	l.t.Helper()
	if err := l.conn.QueryRow(l.t.Context(), sql, args...).Scan(&n); err != nil {
		l.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// Of two processes one leads. It is stopped past its term; the other leads and
// takes back what lapses. The first one goes on in the moment in which more
// leases lapse, and does nothing: every lease is taken back exactly once.
func TestAStoppedLeaderIsReplacedAndDoesNothingWhenItGoesOn(t *testing.T) {
	t.Parallel()
	const many = 20
	url, dir := dbtest.URL(t), t.TempDir()
	leader, other := startOn(t, url, dir), startOn(t, url, dir)
	eventually(t, "a leader", func() bool { _, ok := other.coordinator(); return ok })
	before, _ := other.coordinator()
	if !leader.leads(before) {
		leader, other = other, leader
	}
	if is, ok := leader.coordinator(); !ok || is != before || !leader.leads(is) {
		t.Fatalf("the two processes name different leaders: %+v, %+v", before, is)
	}
	books := openLedger(t, url)
	lost := func() int { return books.number(`SELECT count(*) FROM event WHERE type = 'job.lost'`) }

	other.submit(titles(2 * many)...)
	agent := other.agent("claude-1")
	hold(t, agent, many)
	leader.freeze()
	stopped := time.Now()
	eventually(t, "another leader", func() bool { is, ok := other.coordinator(); return ok && is.Term > before.Term })
	after, _ := other.coordinator()
	took := time.Since(stopped)
	t.Logf("the other process led %.1f s after the leader was stopped", took.Seconds())
	if !other.leads(after) || after.Term != before.Term+1 {
		t.Errorf("after %+v came %+v", before, after)
	}
	eventually(t, "the lapsed leases being taken back", func() bool { return lost() == many })
	t.Logf("leases of 10 s were taken back %.1f s after the stop", time.Since(stopped).Seconds())

	hold(t, agent, many)
	eventually(t, "the next leases lapsing", func() bool {
		return books.number(`SELECT count(*) FROM job_lease WHERE expires_at > clock_timestamp()`) == 0
	})
	leader.thaw()
	eventually(t, "all leases being taken back", func() bool { return lost() == 2*many })
	eventually(t, "the old leader knowing it", func() bool { return strings.Contains(leader.logs.String(), "leads no longer") })

	for what, sql := range map[string]string{
		"leases that were lost twice": `SELECT count(*) FROM (SELECT job_id, epoch FROM event WHERE type = 'job.lost'
			GROUP BY job_id, epoch HAVING count(*) > 1) x`,
		"attempts that are open": `SELECT count(*) FROM attempt WHERE outcome = ''`,
		"leases left":            `SELECT count(*) FROM job_lease`,
	} {
		if n := books.number(sql); n != 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
	// What the old leader wrote after its term began to be another's.
	if n := books.number(`SELECT count(*) FROM coordinator_log WHERE instance_id = $1 AND message LIKE '%taken back%' AND at > (
		SELECT min(at) FROM coordinator_log WHERE term = $2)`, before.InstanceID, after.Term); n != 0 {
		t.Errorf("the old leader took leases back in %d cycles after its term", n)
	}
	if is, ok := leader.coordinator(); !ok || is != after {
		t.Errorf("in the end %+v leads; want %+v to have stayed", is, after)
	}
	eventually(t, "the log telling of each lease once", func() bool {
		return books.number(`SELECT coalesce(sum((details->>'leases_taken_back')::int), 0) FROM coordinator_log`) == 2*many
	})
}

// A leader that gets the signal to stop resigns, so that the other one need not
// wait for the end of the lease.
func TestAnEndingLeaderResigns(t *testing.T) {
	t.Parallel()
	url, dir := dbtest.URL(t), t.TempDir()
	leader, other := startOn(t, url, dir), startOn(t, url, dir)
	eventually(t, "a leader", func() bool { _, ok := other.coordinator(); return ok })
	before, _ := other.coordinator()
	if !leader.leads(before) {
		leader, other = other, leader
	}
	leader.stop()
	if n := openLedger(t, url).number(`SELECT count(*) FROM leadership WHERE holder = $1 AND expires_at > clock_timestamp()`, before.InstanceID); n != 0 {
		t.Error("the leader ended without resigning")
	}
	eventually(t, "another leader", func() bool { is, ok := other.coordinator(); return ok && other.leads(is) })
}
