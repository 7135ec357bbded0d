package report_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

const (
	twinAgents = 5
	twinJobs   = 2 // of each agent
)

// twins are two databases with the same rows, their ids among them. What is said
// in one of them in one breath is said in the other one thing after another.
type twins struct {
	*testWorkspace
	r          *rapid.T
	other      *testWorkspace
	owners     [2]*pgx.Conn
	workspaces [2]ids.ID
	named      map[int]int // how often the reports of a batch name each job
}

// Heartbeats that are written together leave the rows and give the answers that
// they would, one after another: whoever was replaced, ended, drained, or lists
// what it does not have, and whatever directive a lease has.
func TestHeartbeatsTogetherAreAsOneByOne(t *testing.T) {
	eachTwin(t, func(w *twins) (alone, together []report.Heard) {
		said := w.say(w.beat)
		return w.Dispatch.BeatsAlone(w.Ctx, said[0]), w.other.Dispatch.BeatsTogether(w.Ctx, w.workspaces[1], said[1])
	})
}

// So do reports: the first one starts its job, once.
func TestReportsTogetherAreAsOneByOne(t *testing.T) {
	eachTwin(t, func(w *twins) (alone, together []report.Heard) {
		said := w.say(w.report)
		return w.Dispatch.ReportsAlone(w.Ctx, said[0]), w.other.Dispatch.ReportsTogether(w.Ctx, w.workspaces[1], said[1])
	})
}

func eachTwin(t *testing.T, answer func(*twins) (alone, together []report.Heard)) {
	t.Helper()
	w := newTestWorkspace(t)
	d := dbtest.New(t)
	other := inWorkspace(t, d, dbfactory.Workspace(t, d))
	for _, one := range []*testWorkspace{w, other} {
		dbfactory.Exec(t, one.DB, `INSERT INTO lane (workspace_id, product_id, needs, digest)
			SELECT workspace_id, id, '{}', '' FROM product`)
	}
	owners, retried, all := [2]*pgx.Conn{dbtest.Owner(t, w.DB), dbtest.Owner(t, other.DB)}, 0, 0
	rapid.Check(t, func(r *rapid.T) {
		k := &twins{testWorkspace: w, r: r, other: other, owners: owners, workspaces: [2]ids.ID{w.Workspace, other.Workspace},
			named: map[int]int{}}
		k.populate()
		alone, together := answer(k)
		k.same(alone, together)
		for _, h := range together {
			if all++; h.Alone {
				retried++
			}
		}
	})
	if retried*4 > all {
		t.Errorf("%d of %d were run alone: what together means was hardly tested", retried, all)
	}
}

func twinID(kind string, n int) ids.ID {
	id, _ := ids.Parse(fmt.Sprintf("00000000-0000-7000-8000-%04x%08x", int(kind[0]), n))
	return id
}

// populate makes agents with a lease or two each, as they may stand, the same ones
// in both databases.
func (w *twins) populate() {
	w.exec(`DELETE FROM event WHERE workspace_id = $1`, `DELETE FROM job WHERE workspace_id = $1`,
		`DELETE FROM factory WHERE workspace_id = $1`)
	for i := range twinAgents {
		draining := rapid.IntRange(0, 3).Draw(w.r, "draining") == 0
		w.exec(fmt.Sprintf(`INSERT INTO factory (workspace_id, id, name, draining, drained_at)
			VALUES ($1, '%s', 'factory-%d', %v, CASE WHEN %[3]v THEN now() END)`, twinID("f", i), i, draining))
		boot := rapid.SampledFrom([]string{"boot-1", "boot-1", "boot-1", "boot-2"}).Draw(w.r, "boot")
		generation := rapid.SampledFrom([]int{3, 3, 3, 4}).Draw(w.r, "generation")
		ended := rapid.SampledFrom([]string{"NULL", "NULL", "now()"}).Draw(w.r, "terminated")
		heard := rapid.SampledFrom([]string{"1 second", "1 minute"}).Draw(w.r, "heard")
		w.exec(fmt.Sprintf(`INSERT INTO agent (workspace_id, id, factory_id, name, boot_id, generation, terminated_at, last_heartbeat_at)
			VALUES ($1, '%s', '%s', 'agent-%d', '%s', %d, %s, now() - interval '%s')`,
			twinID("a", i), twinID("f", i), i, boot, generation, ended, heard))
		for n := range twinJobs {
			w.leased(i, i*twinJobs+n)
		}
	}
}

// leased makes a job, which an agent or nobody works on.
func (w *twins) leased(agent, n int) {
	status := rapid.SampledFrom([]string{"assigned", "running", "running", "ready", "aborted"}).Draw(w.r, "status")
	w.exec(fmt.Sprintf(`INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, epoch, created_by, failed_at)
		SELECT workspace_id, '%s', 'J-%d', 'job', product_id, id, '%s', 3, 'test', CASE WHEN '%[3]s' = 'aborted' THEN now() END
		FROM lane WHERE workspace_id = $1`, twinID("j", n), n, status),
		fmt.Sprintf(`INSERT INTO job_text (workspace_id, job_id) VALUES ($1, '%s')`, twinID("j", n)))
	outcome := map[string]string{"assigned": "", "running": "", "ready": "lost", "aborted": "cancelled"}[status]
	w.exec(fmt.Sprintf(`INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory, outcome, ended_at)
		VALUES ($1, '%s', 3, 'agent-%d', 'factory', '%s', CASE WHEN '%[3]s' <> '' THEN now() END)`, twinID("j", n), agent, outcome))
	if outcome != "" {
		return
	}
	ends := rapid.SampledFrom([]string{"5 minutes", "5 minutes", "5 minutes", "-1 minute"}).Draw(w.r, "ends in")
	directive := rapid.SampledFrom([]string{"", "", "warn", "pause", "cancel"}).Draw(w.r, "directive")
	percent := rapid.SampledFrom([]string{"NULL", "40"}).Draw(w.r, "percent")
	w.exec(fmt.Sprintf(`INSERT INTO job_lease (workspace_id, job_id, epoch, agent_id, factory_id, ttl_seconds, expires_at, directive,
			directive_reason, progress_percent)
		VALUES ($1, '%s', 3, '%s', '%s', 900, now() + interval '%s', '%s', 'because of %[5]s', %s)`,
		twinID("j", n), twinID("a", agent), twinID("f", agent), ends, directive, percent))
}

// exec runs statements of the owner in both databases.
func (w *twins) exec(statements ...string) {
	for _, sql := range statements {
		for side, workspace := range w.workspaces {
			if _, err := w.owners[side].Exec(w.Ctx, sql, workspace); err != nil {
				w.r.Fatalf("%s: %v", sql, err)
			}
		}
	}
}

// say draws what every agent says, and gives it for both databases.
func (w *twins) say(draw func(agent int) []report.Said) (said [2][]report.Said) {
	for i := range twinAgents {
		for _, one := range draw(i) {
			for side, workspace := range w.workspaces {
				one.Who = tenancy.Principal{Kind: tenancy.KindAgent, Workspace: workspace, Name: fmt.Sprint("agent-", i),
					Agent: twinID("a", i), Boot: "boot-1", Generation: 3}
				said[side] = append(said[side], one)
			}
		}
	}
	return said
}

func (w *twins) beat(agent int) []report.Said {
	b := report.Heartbeat{Agent: fmt.Sprint("agent-", agent), BootID: "boot-1",
		Status:   rapid.SampledFrom([]string{"", "working", "blocked"}).Draw(w.r, "says it is"),
		MemoryMB: rapid.SampledFrom([]*int{nil, number(0), number(512)}).Draw(w.r, "memory")}
	listed := map[string]bool{}
	for range rapid.IntRange(0, 3).Draw(w.r, "leases") {
		ref := w.ref(agent)
		if listed[ref.Job] {
			continue
		}
		listed[ref.Job] = true
		p := w.progress()
		b.Leases = append(b.Leases, report.HeartbeatLease{Job: ref.Job, Epoch: ref.Epoch, ProgressPercent: p.Percent, CurrentStep: p.Step})
	}
	return []report.Said{{Beat: b}}
}

func (w *twins) report(agent int) []report.Said {
	var list []report.Said
	for range rapid.IntRange(1, 2).Draw(w.r, "reports") {
		r := report.Report{}
		switch rapid.SampledFrom([]string{"start", "progress", "renew"}).Draw(w.r, "report") {
		case "start":
			r.Starts = true
		case "progress":
			r.Starts, r.IsProgress, r.Progress = true, true, w.progress()
		case "renew":
			r.TTL = rapid.SampledFrom([]*int{nil, number(10), number(3600)}).Draw(w.r, "ttl")
		}
		// The second report of a job is answered after the batch, alone. A third one would
		// be answered at the same time as the second, in any order: it is left out.
		job := w.job(agent)
		if w.named[job]++; w.named[job] <= 2 {
			list = append(list, report.Said{Ref: w.refTo(job), Report: r})
		}
	}
	return list
}

// ref names a lease, most often one that the agent has or had.
func (w *twins) ref(agent int) lease.Ref { return w.refTo(w.job(agent)) }

// job is most often one that the agent works on or worked on.
func (w *twins) job(agent int) int {
	if rapid.IntRange(0, 5).Draw(w.r, "strange") == 0 {
		return rapid.IntRange(0, twinAgents*twinJobs).Draw(w.r, "any job") // one more than there are
	}
	return agent*twinJobs + rapid.IntRange(0, twinJobs-1).Draw(w.r, "own job")
}

func (w *twins) refTo(job int) lease.Ref {
	name := fmt.Sprint("J-", job)
	if rapid.IntRange(0, 5).Draw(w.r, "by id") == 0 {
		name = twinID("j", job).String()
	}
	return lease.Ref{Job: name, Epoch: rapid.SampledFrom([]int64{3, 3, 3, 3, 2, 4}).Draw(w.r, "epoch")}
}

func (w *twins) progress() report.Progress {
	step := "testing"
	return report.Progress{Percent: rapid.SampledFrom([]*int{nil, number(40), number(0), number(100)}).Draw(w.r, "progress"),
		Step: rapid.SampledFrom([]*string{nil, &step}).Draw(w.r, "step")}
}

// same asserts that the answers are equal, and the rows.
func (w *twins) same(alone, together []report.Heard) {
	if diff := cmp.Diff(plain(alone), plain(together)); diff != "" {
		w.r.Errorf("one by one (-) and together (+) are answered otherwise:\n%s", diff)
	}
	if diff := cmp.Diff(w.rows(0), w.rows(1)); diff != "" {
		w.r.Errorf("one by one (-) and together (+) leave other rows:\n%s", diff)
	}
}

// plain returns what was answered, with ends of leases in whole minutes.
func plain(list []report.Heard) []string {
	var all []string
	for _, h := range list {
		if h.Err != nil {
			f := fault.From(h.Err)
			if f.Code == fault.Internal {
				f = fault.New(fault.Internal, "%v", errors.Unwrap(f))
			}
			all = append(all, fmt.Sprintf("%s: %s", f.Code, f.Message))
			continue
		}
		text := fmt.Sprintf("every %d s, clock is set: %v;", h.Beat.IntervalSeconds, !h.Beat.Now.IsZero())
		for _, l := range append([]lease.Status{h.Status}, h.Beat.Leases...) {
			if l.ExpiresAt != nil {
				text += " ends in " + time.Until(*l.ExpiresAt).Round(time.Minute).String()
				l.ExpiresAt = nil
			}
			told, _ := json.Marshal(l)
			text += " " + string(told)
		}
		all = append(all, text)
	}
	return all
}

// rows returns those of one workspace, with times by how long ago they are.
func (w *twins) rows(side int) []string {
	var rows []string
	err := w.owners[side].QueryRow(w.Ctx, `SELECT array_agg(r ORDER BY r) FROM (
		SELECT concat_ws(' ', 'agent', name, status, memory_mb, 'heard', round(extract(epoch FROM clock_timestamp() - last_heartbeat_at) / 30)) AS r
			FROM agent WHERE workspace_id = $1
		UNION ALL SELECT concat_ws(' ', 'lease', job_id, epoch, agent_id, ttl_seconds, progress_percent, current_step, progress_at IS NULL,
			'ends in', round(extract(epoch FROM expires_at - clock_timestamp()) / 60)) FROM job_lease WHERE workspace_id = $1
		UNION ALL SELECT concat_ws(' ', 'job', key, status, status_by, epoch, version, started_at IS NULL) FROM job WHERE workspace_id = $1
		UNION ALL SELECT concat_ws(' ', 'attempt', job_id, epoch, outcome, started_at IS NULL) FROM attempt WHERE workspace_id = $1
		UNION ALL SELECT concat_ws(' ', 'event', job_id, row_number() OVER (PARTITION BY job_id ORDER BY id), type, actor, actor_kind,
			epoch, changes, payload) FROM event WHERE workspace_id = $1) x`, w.workspaces[side]).Scan(&rows)
	if err != nil {
		w.r.Fatal(err)
	}
	return rows
}
