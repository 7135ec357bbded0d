package screens

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fleet"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// The board reads a few thousand rows at most, along indexes, whatever the
// workspace holds and whatever the database believes to know of it.
func TestThePlansOfTheBoard(t *testing.T) {
	t.Parallel()
	d, workspace := dbfactory.Filled(t, func(w, _ ids.ID) []string {
		return slices.Concat([]string{
			`ALTER TABLE job SET (autovacuum_enabled = false); ALTER TABLE job_ready SET (autovacuum_enabled = false)`,
			fmt.Sprintf(`UPDATE product SET review_limit = 2000 WHERE workspace_id = '%s'`, w),
			fmt.Sprintf(`INSERT INTO lane (workspace_id, product_id, needs, digest)
				SELECT workspace_id, id, ARRAY['gpu:1', 'repo:ledger'], sha256('one') FROM product WHERE workspace_id = '%s'`, w),
			fmt.Sprintf(`INSERT INTO job (workspace_id, id, key, title, product_id, repo, capabilities, lane_id, phase, status, created_by, ready_at)
				SELECT workspace_id, '%[1]s', 'one', 'one', product_id, 'ledger', ARRAY['gpu:1'], id, 'M1', 'ready', 'test', now()
				FROM lane WHERE workspace_id = '%[1]s'`, w),
		}, crowd(w, w, 20), []string{`ANALYZE`}, crowd(w, w, 20_000))
	})
	h := newHeldIn(t, d, workspace)
	h.plans("statistics of a small table")
	h.run(`ANALYZE`)
	h.plans("fresh statistics")
	h.run(`DELETE FROM pg_statistic`)
	h.run(`UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`)
	h.run(`UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE relnamespace = 'public'::regnamespace AND relkind = 'i'`)
	h.plans("no statistics")
}

// run runs a statement as the owner.
func (h *held) run(sql string) {
	h.t.Helper()
	dbfactory.Exec(h.t, h.db, sql)
}

// crowd adds n jobs in each of the large statuses; all those that ended did so at
// one moment.
func (h *held) crowd(like jobs.Job, n int) {
	h.t.Helper()
	for _, sql := range crowd(h.who.Workspace, like.ID, n) {
		h.run(sql)
	}
}

// crowd are the statements for it.
func crowd(workspace, like ids.ID, n int) []string {
	return []string{
		fmt.Sprintf(`INSERT INTO job (workspace_id, id, key, title, product_id, repo, lane_id, phase, priority, status, wait_reason, not_before, created_by, question,
				status_at, ready_at, completed_at, failed_at)
			SELECT workspace_id, gen_random_uuid(), s || '-' || n || '-' || %[3]d, 'Job ' || n, product_id, repo, lane_id, phase, n %% 11, s,
				CASE s WHEN 'waiting' THEN 'not_before' ELSE '' END, now() + interval '9 days', 'test', CASE s WHEN 'blocked' THEN 'Which?' ELSE '' END, date_trunc('hour', now()), now(), now(), now()
			FROM job, generate_series(1, %[3]d) n, unnest(ARRAY['ready', 'waiting', 'completed', 'failed', 'in_review', 'blocked']) s
			WHERE workspace_id = '%[1]s' AND id = '%[2]s'`, workspace, like, n),
		fmt.Sprintf(`INSERT INTO job_text (workspace_id, job_id) SELECT workspace_id, id FROM job WHERE workspace_id = '%s' ON CONFLICT DO NOTHING`, workspace),
		fmt.Sprintf(`INSERT INTO job_ready (workspace_id, lane_id, priority, ready_at, place, job_id)
			SELECT workspace_id, lane_id, priority, ready_at, ready_at, id FROM job WHERE workspace_id = '%s' AND status = 'ready' ON CONFLICT DO NOTHING`, workspace),
		fmt.Sprintf(`UPDATE job SET epoch = 1 WHERE workspace_id = '%s' AND status = 'in_review' AND epoch = 0`, workspace),
		fmt.Sprintf(`INSERT INTO job_verify (workspace_id, verify_job_id, job_id, epoch, commit, acceptance, distinct_by)
			SELECT v.workspace_id, v.id, w.id, greatest(w.epoch, 1), 'abc', '[]', 'agent' FROM job v JOIN job w ON w.workspace_id = v.workspace_id
				AND w.key = replace(v.key, 'waiting', 'in_review') AND w.id <> v.id
			WHERE v.workspace_id = '%s' AND v.status = 'waiting' ON CONFLICT DO NOTHING`, workspace),
	}
}

func (h *held) plans(when string) {
	h.t.Helper()
	three := 3
	for name, f := range map[string]Filter{
		"everything": {}, "a product": {Products: []string{"default"}}, "a repo": {Repos: []string{"ledger"}}, "a phase": {Phases: []string{"none"}}, "a text": {Query: "none"},
		"a factory": {Factories: []string{"linux-2"}}, "a priority": {PriorityGTE: &three}, "what cannot run": {Unroutable: true},
		"several of each": {Products: []string{"default", "other"}, Repos: []string{"ledger", "web"}, Phases: []string{"M1", "none"},
			Factories: []string{"linux-2", "linux-3"}},
		"several phases": {Phases: []string{"none", "never"}}, "several factories": {Factories: []string{"linux-2", "linux-3"}},
		"several products":     {Products: []string{"default", "other"}},
		"a product and a text": {Products: []string{"default"}, Query: "none"},
	} {
		err := h.db.In(h.t.Context(), db.Workspace(h.who.Workspace), func(tx db.Tx) error {
			r, err := newReader(h.t.Context(), &planned{Tx: tx, t: h.t, name: name + ", " + when}, h.who.Workspace)
			if err != nil {
				return err
			}
			pages, err := r.columns(f, Columns)
			if err != nil {
				return err
			}
			if _, err := r.unroutable(); err != nil {
				return err
			}
			for _, p := range pages {
				if p.Next != "" && len(p.Cards) > 0 {
					if _, err := r.column(f, p.Column, p.Next); err != nil {
						return err
					}
				}
			}
			return r.menus(&PageContext{})
		})
		if err != nil {
			h.t.Fatalf("%s: %v", name, err)
		}
	}
	for name, read := range map[string]func(tx db.Tx) error{
		"the review queue": func(tx db.Tx) error {
			_, _, err := handed(h.t.Context(), tx, h.who.Workspace, jobs.InReview, cursor{priority: 11, start: true})
			return err
		},
		"what waits for a person": func(tx db.Tx) error {
			r, err := newReader(h.t.Context(), tx, h.who.Workspace)
			if err != nil {
				return err
			}
			if _, err := r.needs(); err != nil {
				return err
			}
			if _, err := r.openQuestions(); err != nil {
				return err
			}
			_, _, err = r.needsList()
			return err
		},
		"what stands before a new job": func(tx db.Tx) error {
			snap := fleet.Snapshot{Factories: []fleet.Factory{{Name: "linux-2", Capabilities: []string{"gpu:1"},
				Repos: []fleet.Repo{{Name: "ledger"}}, Agents: []fleet.Agent{{Name: "claude-1"}}}}}
			for _, query := range []StartQuery{{Needs: fleet.Needs{Repo: "ledger"}}, {Product: "default"}} {
				if _, err := startTx(h.t.Context(), tx, h.who, snap, query); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		err := h.db.In(h.t.Context(), db.Workspace(h.who.Workspace), func(tx db.Tx) error {
			return read(&planned{Tx: tx, t: h.t, name: name + ", " + when})
		})
		if err != nil {
			h.t.Fatalf("%s: %v", name, err)
		}
	}
}

// planned has each query explained before it is run.
type planned struct {
	db.Tx
	t    *testing.T
	name string
}

// Query runs a query whose plan is looked at first.
func (p *planned) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	p.look(ctx, sql, args)
	return p.Tx.Query(ctx, sql, args...)
}

// QueryRow is Query for one row.
func (p *planned) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	p.look(ctx, sql, args)
	return p.Tx.QueryRow(ctx, sql, args...)
}

func (p *planned) look(ctx context.Context, sql string, args []any) {
	var raw []byte
	if err := p.Tx.QueryRow(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) "+sql, args...).Scan(&raw); err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
	var plans []struct{ Plan map[string]any }
	if err := json.Unmarshal(raw, &plans); err != nil {
		p.t.Fatal(err)
	}
	title, _, _ := strings.Cut(sql, "\n")
	p.check(p.name+", "+title, plans[0].Plan)
}

// large are the tables of which no plan reads much.
var large = map[string]bool{"job_verify": true, "job": true, "job_text": true, "job_ready": true, "attempt": true, "event": true}

// mostRead is how many rows of a large table a part of a plan may read: those that
// a walk looks at, of the four statuses of a column at most.
const mostRead = 4 * scanRows

// mostSorted is how many rows may be put into order: the top of each lane or status.
const mostSorted = 10 * (PageSize + 1)

func (p *planned) check(name string, node map[string]any) {
	kind, _ := node["Node Type"].(string)
	relation, _ := node["Relation Name"].(string)
	rows, _ := node["Actual Rows"].(float64)
	loops, _ := node["Actual Loops"].(float64)
	removed, _ := node["Rows Removed by Filter"].(float64)
	children, _ := node["Plans"].([]any)
	if strings.Contains(kind, "Sort") {
		if input, _ := children[0].(map[string]any)["Actual Rows"].(float64); input > mostSorted {
			p.t.Errorf("%s: the plan sorts %v rows", name, input)
		}
	}
	if read := (rows + removed) * loops; large[relation] && (read > mostRead || kind == "Seq Scan" && read > PageSize) {
		p.t.Errorf("%s: %s reads %v rows of %s (index %v)", name, kind, read, relation, fmt.Sprint(node["Index Name"]))
	}
	for _, child := range children {
		if plan, ok := child.(map[string]any); ok {
			p.check(name, plan)
		}
	}
}
