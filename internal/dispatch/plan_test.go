package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// crowd is how many jobs of each kind stand around the one that is claimed; with
// all kinds there are more than sixty thousand.
const crowd = 20_000

// The claim is the top of one index, whatever the workspace holds: no sort, no
// scan of a table, whether statistics are from before the crowd came, fresh, or
// missing. So is what a completion queries, and what loops look for every moment.
func TestThePlanOfAClaim(t *testing.T) {
	t.Parallel()
	d, workspace := dbfactory.Filled(t, func(workspace, other ids.ID) []string {
		return slices.Concat([]string{noVacuum}, jobsAround(workspace, 100), heldJobs(workspace, other, 10), []string{`ANALYZE`},
			jobsAround(workspace, crowd), heldJobs(workspace, other, crowd/10))
	})
	look := func(when string) {
		assertPlans(t, d, workspace, when)
		assertLoops(t, d, workspace, when)
	}
	look("statistics of a small table")
	dbfactory.Exec(t, d, `ANALYZE`)
	look("fresh statistics")
	forgetStatistics(t, d)
	look("no statistics")
	believeNoLeases(t, d)
	look("no leases a moment ago")
	assertWholeCycles(t, d, workspace)
}

// A connection keeps the plans of batches. Those that it made when there was nothing, and
// PostgreSQL had counted nothing, are made anew once the tables that have grown are counted,
// a second later: rows are found by index again.
func TestPlansFollowTablesThatGrow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		jobs  int
		empty string
	}{
		"a new database":              {1, `DELETE FROM job; DELETE FROM lane`},
		"a queue that was worked off": {crowd, `DELETE FROM job_ready; DELETE FROM job_lease; DELETE FROM attempt`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := dbtest.New(t)
			workspace := dbfactory.Workspace(t, d)
			dbfactory.Exec(t, d, noVacuum)
			fill(t, d, workspace, c.jobs)
			for _, sql := range strings.Split(c.empty, "; ") {
				dbfactory.Exec(t, d, sql)
			}
			dbfactory.Exec(t, d, `VACUUM ANALYZE`)
			kept := map[string]*keptPlan{}
			for name, ask := range asked(t, d, workspace) {
				if batched[name] {
					kept[name] = keepPlan(t, d, workspace, captured(t, name, ask))
				}
			}
			fill(t, d, workspace, crowd+1)
			dbfactory.AwaitCounts(t, d, "job", "job_ready", "job_lease", "attempt")
			dbfactory.Exec(t, d, `SELECT analyze_grown_tables()`)
			for name, ask := range asked(t, d, workspace) {
				if batched[name] {
					assertPlan(t, name, kept[name].explain(captured(t, name, ask).args))
				}
			}
		})
	}
}

// keptPlan is a connection of the application with the plan of one statement.
type keptPlan struct {
	t    *testing.T
	conn *pgx.Conn
}

func keepPlan(t *testing.T, d *db.DB, workspace ids.ID, c *capture) *keptPlan {
	t.Helper()
	k := &keptPlan{t, dbtest.Owner(t, d)}
	_, err := k.conn.Exec(t.Context(), fmt.Sprintf(`SET ROLE fleetboard_app; SET app.workspace_id = '%s'; SET enable_seqscan = off;
		SET plan_cache_mode = force_generic_plan; SET random_page_cost = 1.1`, workspace))
	if err != nil {
		t.Fatal(err)
	}
	if err := k.asTx(func(e *explained) error { return e.prepare(t.Context(), c.sql) }); err != nil {
		t.Fatal(err)
	}
	k.explain(c.args)
	return k
}

// explain runs the statement in a transaction that is undone, and gives its plan.
func (k *keptPlan) explain(args []any) (plan map[string]any) {
	k.t.Helper()
	if _, err := k.conn.Exec(k.t.Context(), "BEGIN"); err != nil {
		k.t.Fatal(err)
	}
	err := k.asTx(func(e *explained) error {
		err := e.execute(k.t.Context(), args)
		plan = e.plan
		return err
	})
	if _, undone := k.conn.Exec(k.t.Context(), "ROLLBACK"); err != nil || undone != nil {
		k.t.Fatal(err, undone)
	}
	return plan
}

// asTx lets the connection stand in for a transaction.
func (k *keptPlan) asTx(do func(*explained) error) error {
	return do(&explained{Tx: connection{k.conn}})
}

// connection is a connection without pipelines.
type connection struct{ *pgx.Conn }

// Pipeline is not there.
func (connection) Pipeline(context.Context, ...func(db.Tx) error) error { return errors.ErrUnsupported }

// noVacuum leaves it to a test what PostgreSQL has counted.
const noVacuum = `ALTER TABLE job_ready SET (autovacuum_enabled = false); ALTER TABLE job SET (autovacuum_enabled = false);
	ALTER TABLE attempt SET (autovacuum_enabled = false); ALTER TABLE job_lease SET (autovacuum_enabled = false);
	ALTER TABLE job_dependency SET (autovacuum_enabled = false)`

// believeNoLeases makes it as though there had been no leases, and no attempts yet,
// when they were last counted: leases are gone again and again, and the plans of a
// new database are made before its first attempt.
func believeNoLeases(t *testing.T, d *db.DB) {
	t.Helper()
	dbfactory.Exec(t, d, `ANALYZE; DELETE FROM pg_statistic WHERE starelid IN ('job_lease'::regclass, 'attempt'::regclass);
		UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE relname SIMILAR TO '(job_lease|attempt)%' AND relkind IN ('r', 'i')`)
}

// forgetStatistics makes it as though nobody had ever looked at a table.
func forgetStatistics(t *testing.T, d *db.DB) {
	t.Helper()
	dbfactory.Exec(t, d, `DELETE FROM pg_statistic;
		UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relnamespace = 'public'::regnamespace AND relkind = 'r';
		UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE relnamespace = 'public'::regnamespace AND relkind = 'i'`)
}

func fill(t *testing.T, d *db.DB, workspace ids.ID, n int) {
	t.Helper()
	for _, sql := range jobsAround(workspace, n) {
		dbfactory.Exec(t, d, sql)
	}
}

// jobsAround are the statements that add n ready, n waiting, n completed jobs and n in review,
// over three lanes, and a twentieth as many that other agents work on.
func jobsAround(workspace ids.ID, n int) []string {
	return []string{
		fmt.Sprintf(`INSERT INTO lane (workspace_id, product_id, needs, digest)
			SELECT workspace_id, id, ARRAY['lane:' || n], sha256(('lane' || n)::bytea) FROM product, generate_series(1, 3) n
			WHERE workspace_id = '%s' ON CONFLICT DO NOTHING`, workspace),
		fmt.Sprintf(`INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, priority, status, wait_reason, created_by, completed_at, ready_at)
			SELECT '%[1]s', gen_random_uuid(), s || '-' || n || '-' || %[2]d, 'job', (SELECT id FROM product WHERE workspace_id = '%[1]s'),
				(SELECT min(id) FROM lane WHERE workspace_id = '%[1]s') + n %% 3, n %% 11, s,
				CASE WHEN s = 'waiting' THEN 'dependency' ELSE '' END, 'test',
				CASE WHEN s = 'completed' THEN now() END, CASE WHEN s = 'ready' THEN now() END
			FROM generate_series(1, %[2]d) n, unnest(ARRAY['ready', 'waiting', 'completed', 'in_review', 'running']) s
			WHERE s <> 'running' OR n %% 20 = 0`, workspace, n),
		fmt.Sprintf(`INSERT INTO job_ready (workspace_id, lane_id, priority, ready_at, place, job_id)
			SELECT workspace_id, lane_id, priority, ready_at, ready_at, id FROM job WHERE workspace_id = '%s' AND status = 'ready'
			ON CONFLICT DO NOTHING`, workspace),
		fmt.Sprintf(`INSERT INTO job_offer (workspace_id, job_id, job_version, factory_id, factory, score, turn, tried, expires_at)
			SELECT j.workspace_id, j.id, j.version, gen_random_uuid(), 'busy-1', 0.5, 1, '{busy-1}', now() + interval '1 day' * random()
			FROM job j WHERE j.workspace_id = '%s' AND j.status = 'ready' ON CONFLICT DO NOTHING`, workspace),
		// Each waiting job but the first waits for one of the others, three for each.
		fmt.Sprintf(`INSERT INTO job_dependency (workspace_id, job_id, depends_on_id, created_by)
			SELECT '%[1]s', j.id, d.id, 'test' FROM generate_series(2, %[2]d) n
			JOIN job j ON j.workspace_id = '%[1]s' AND j.key = 'waiting-' || n || '-' || %[2]d
			JOIN job d ON d.workspace_id = '%[1]s' AND d.key = 'waiting-' || (n + 1) / 3 || '-' || %[2]d`, workspace, n),
		fmt.Sprintf(`UPDATE product SET review_limit = 5, paused = true WHERE workspace_id = '%s'`, workspace),
		fmt.Sprintf(`INSERT INTO factory (workspace_id, id, name)
			SELECT '%s', gen_random_uuid(), 'busy-' || n FROM generate_series(1, 100) n ON CONFLICT DO NOTHING`, workspace),
		fmt.Sprintf(`INSERT INTO agent (workspace_id, id, factory_id, name, boot_id)
			SELECT workspace_id, gen_random_uuid(), id, name, 'b' FROM factory WHERE workspace_id = '%s' ON CONFLICT DO NOTHING`, workspace),
		fmt.Sprintf(`INSERT INTO job_lease (workspace_id, job_id, epoch, agent_id, factory_id, ttl_seconds, expires_at)
			SELECT j.workspace_id, j.id, 1, a.id, a.factory_id, 900, now() + interval '30 days'
			FROM (SELECT workspace_id, id, row_number() OVER () AS n FROM job WHERE workspace_id = '%[1]s' AND status = 'running') j
			JOIN (SELECT id, factory_id, row_number() OVER () AS n FROM agent WHERE workspace_id = '%[1]s') a ON a.n = 1 + j.n %% 100
			ON CONFLICT DO NOTHING`, workspace),
		fmt.Sprintf(`INSERT INTO attempt (workspace_id, job_id, epoch, agent, factory)
			SELECT workspace_id, id, 1, 'busy', 'busy' FROM job WHERE workspace_id = '%s' AND status IN ('running', 'in_review', 'completed')
			ON CONFLICT DO NOTHING`, workspace),
	}
}

// explained runs a query of the application under EXPLAIN ANALYZE instead, and
// keeps the plan.
type explained struct {
	db.Tx
	plan map[string]any
}

func (e *explained) query(ctx context.Context, sql string, args []any) error {
	var raw []byte
	err := e.Tx.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+sql, args...).Scan(&raw)
	if err != nil {
		return err
	}
	return e.keep(raw)
}

// prepare plans a statement once, for any values, as batches have it; execute is query with
// that plan.
func (e *explained) prepare(ctx context.Context, sql string) error {
	_, err := e.Exec(ctx, "PREPARE planned_once AS "+sql)
	return err
}

func (e *explained) deallocate(ctx context.Context) error {
	_, err := e.Exec(ctx, "DEALLOCATE planned_once")
	return err
}

func (e *explained) execute(ctx context.Context, args []any) error {
	places, texts := make([]string, len(args)), make([]any, len(args))
	for i, arg := range args {
		places[i], texts[i] = fmt.Sprintf("$%d", i+1), arg
		if list, ok := arg.([]ids.ID); ok { // where the type is not known only texts make an array
			texts[i] = strings.Fields(strings.Trim(fmt.Sprint(list), "[]"))
		}
	}
	var raw []byte
	err := e.Tx.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE planned_once ("+strings.Join(places, ", ")+")",
		append([]any{pgx.QueryExecModeSimpleProtocol}, texts...)...).Scan(&raw)
	if err != nil {
		return err
	}
	return e.keep(raw)
}

func (e *explained) keep(raw []byte) error {
	var plans []struct{ Plan map[string]any }
	if err := json.Unmarshal(raw, &plans); err != nil {
		return err
	}
	e.plan = plans[0].Plan
	return nil
}

// asked returns the statements that a claim, an end and the pages beside them run.
func asked(t *testing.T, d *db.DB, workspace ids.ID) map[string]func(*capture) error {
	t.Helper()
	ctx := t.Context()
	lane := int64(dbfactory.Int(t, d, `SELECT coalesce(min(id), 1) FROM lane WHERE workspace_id = $1`, workspace))
	text := func(sql string) string {
		return dbfactory.Text(t, d, "SELECT coalesce(("+sql+"), gen_random_uuid()::text)", workspace)
	}
	agent := dbfactory.Text(t, d, `WITH f AS (
			INSERT INTO factory (workspace_id, id, name) VALUES ($1, gen_random_uuid(), gen_random_uuid()::text) RETURNING id)
		INSERT INTO agent (workspace_id, id, factory_id, name, boot_id)
		SELECT $1, gen_random_uuid(), id, gen_random_uuid()::text, 'b' FROM f RETURNING id || ' ' || factory_id`, workspace)
	agentID, factoryID, _ := strings.Cut(agent, " ")
	a, _ := ids.Parse(agentID)
	f, _ := ids.Parse(factoryID)
	product, _ := ids.Parse(dbfactory.Text(t, d, `SELECT id::text FROM product WHERE workspace_id = $1`, workspace))
	waited, _ := ids.Parse(text(`SELECT depends_on_id::text FROM job_dependency WHERE workspace_id = $1 LIMIT 1`))
	ready, _ := ids.Parse(text(`SELECT min(id::text) FROM job WHERE workspace_id = $1 AND status = 'ready'`))
	running, _ := ids.Parse(text(`SELECT min(job_id::text) FROM job_lease WHERE workspace_id = $1`))
	decision := json.RawMessage(dbfactory.Text(t, d, `SELECT coalesce((SELECT jsonb_build_array(to_jsonb(j) || jsonb_build_object('from_status', j.status,
		'from_epoch', j.epoch, 'status', 'failed', 'actor', 'a', 'actor_kind', 'agent', 'actor_id', 'a1',
		'event_type', 'job.failed', 'changes', '[]'::jsonb,
		'payload', '{}'::jsonb))::text FROM job j WHERE j.id = $1), '[]')`, running))
	return map[string]func(*capture) error{
		"agent": func(c *capture) error {
			_, err := dbsqlc.New().AgentsForClaim(ctx, c, dbsqlc.AgentsForClaimParams{WorkspaceID: workspace, Ids: []ids.ID{a},
				FromNumbers: []int64{0}, Factories: []ids.ID{f}, FactoryNumbers: []int64{0}})
			return err
		},
		"products": func(c *capture) error {
			_, err := dbsqlc.New().ProductsForClaim(ctx, c, workspace, []string{"default"})
			return err
		},
		"lanes of a product": func(c *capture) error {
			_, err := dbsqlc.New().ReadyLanesOfProduct(ctx, c, workspace, product)
			return err
		},
		"heads": func(c *capture) error {
			_, err := dbsqlc.New().ReadyHeads(ctx, c, dbsqlc.ReadyHeadsParams{WorkspaceID: workspace, Lanes: []int64{lane, lane + 1, lane + 2}})
			return err
		},
		"claim": func(c *capture) error {
			_, err := dbsqlc.New().ReadyTake(ctx, c, dbsqlc.ReadyTakeParams{WorkspaceID: workspace, LaneID: lane, MaxRows: 1})
			return err
		},
		"first of lanes": func(c *capture) error {
			_, err := dbsqlc.New().ReadyFirst(ctx, c, dbsqlc.ReadyFirstParams{WorkspaceID: workspace, Lanes: []int64{lane, lane + 1, lane + 2},
				Priorities: []int{99, 99, 99}, Places: make([]time.Time, 3), TieBreaks: make([][]byte, 3), MaxRows: 1})
			return err
		},
		"standing offers": func(c *capture) error { _, err := dbsqlc.New().OffersStanding(ctx, c, workspace, 3); return err },
		"offers of jobs": func(c *capture) error {
			_, err := dbsqlc.New().OffersOfJobs(ctx, c, workspace, []ids.ID{ready})
			return err
		},
		"claim of a match": func(c *capture) error {
			_, err := dbsqlc.New().ReadyTakeMatched(ctx, c, workspace, []ids.ID{ready}, []int64{lane}, []int{1})
			return err
		},
		"offer": func(c *capture) error {
			_, err := dbsqlc.New().OffersPut(ctx, c, dbsqlc.OffersPutParams{WorkspaceID: workspace, JobIds: []ids.ID{ready}, Versions: []int{1},
				FactoryIds: []ids.ID{f}, Factories: []string{"mac-1"}, Scores: []float64{0.5}, Turns: []int{1}, Seconds: []float64{15}})
			return err
		},
		"ended offers": func(c *capture) error {
			_, err := dbsqlc.New().OffersEnded(ctx, c, workspace, time.Now().Add(-time.Minute), time.Now().Add(time.Minute), 3)
			return err
		},
		"next end of an offer": func(c *capture) error { _, err := dbsqlc.New().OfferNext(ctx, c, workspace); return err },
		"claim by name": func(c *capture) error {
			_, err := dbsqlc.New().ReadyTakeOne(ctx, c, workspace, ready, lane)
			return err
		},
		"leases": func(c *capture) error {
			_, err := dbsqlc.New().LeasesInsert(ctx, c, dbsqlc.LeasesInsertParams{WorkspaceID: workspace, JobIds: []ids.ID{ready},
				AgentIds: []ids.ID{a}, Agents: []string{"claude-1"}, FactoryIds: []ids.ID{f}, Factories: []string{"mac-1"},
				Models: []string{""}, SessionKeys: []string{""}, RequestIds: []string{""}, TtlSeconds: []int{900}})
			return err
		},
		"locks": func(c *capture) error {
			_, err := dbsqlc.New().AgentsLock(ctx, c, workspace, []ids.ID{f}, []ids.ID{a})
			return err
		},
		"job": func(c *capture) error {
			_, err := dbsqlc.New().JobFullByIDs(ctx, c, []ids.ID{running}, workspace)
			return err
		},
		"end of a lease": func(c *capture) error {
			_, err := dbsqlc.New().LeasesEnd(ctx, c, json.RawMessage(fmt.Sprintf(`[{"job_id": %q, "epoch": 1, "outcome": "released", "error": "", "error_kind": ""}]`, running)),
				workspace, []ids.ID{running})
			return err
		},
		"saved decision": func(c *capture) error {
			_, err := dbsqlc.New().JobsSave(ctx, c, decision, workspace, []ids.ID{running})
			return err
		},
		"dependents": func(c *capture) error {
			_, err := dbsqlc.New().JobDependents(ctx, c, workspace, waited, []string{"blocks", "gate"}, 100)
			return err
		},
		"parents that are to wait": func(c *capture) error {
			_, err := dbsqlc.New().JobReadyParents(ctx, c, workspace, waited)
			return err
		},
		"who waits on the board": func(c *capture) error {
			_, err := dbsqlc.New().BoardWaitingOn(ctx, c, []ids.ID{waited}, workspace, 50)
			return err
		},
		"review queue": func(c *capture) error {
			_, err := dbsqlc.New().ReviewQueue(ctx, c, dbsqlc.ReviewQueueParams{WorkspaceID: workspace, Status: "in_review", MaxResult: 1000, MaxRows: 5})
			return err
		},
		"surplus": func(c *capture) error {
			_, err := dbsqlc.New().SlotSurplus(ctx, c, workspace, 200)
			return err
		},
	}
}

func assertPlans(t *testing.T, d *db.DB, workspace ids.ID, when string) {
	t.Helper()
	for name, ask := range asked(t, d, workspace) {
		c := captured(t, name, ask)
		assertPlanned(t, d, workspace, name+", "+when, func(e *explained) error { return e.query(t.Context(), c.sql, c.args) })
		if batched[name] {
			assertPlanned(t, d, workspace, name+", planned once, "+when, func(e *explained) error {
				return errors.Join(e.prepare(t.Context(), c.sql), e.execute(t.Context(), c.args), e.deallocate(t.Context()))
			}, db.NoWait)
		}
	}
}

// assertPlanned looks at the plan of a statement in a transaction that is undone.
func assertPlanned(t *testing.T, d *db.DB, workspace ids.ID, name string, explain func(*explained) error, options ...db.Option,
) {
	t.Helper()
	undo := errors.New("undo")
	err := d.In(t.Context(), db.Workspace(workspace), func(tx db.Tx) error {
		e := &explained{Tx: tx}
		if err := explain(e); err != nil {
			return err
		}
		assertPlan(t, name, e.plan)
		return undo
	}, options...)
	if !errors.Is(err, undo) {
		t.Fatalf("%s: %v", name, err)
	}
}

func captured(t *testing.T, name string, ask func(*capture) error) *capture {
	t.Helper()
	c := &capture{}
	if err := ask(c); !errors.Is(err, errCaptured) {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

// batched are the statements that are planned once, for any values.
var batched = map[string]bool{"agent": true, "products": true, "heads": true, "claim": true, "claim by name": true, "leases": true,
	"locks": true, "job": true, "end of a lease": true, "saved decision": true, "first of lanes": true, "standing offers": true,
	"offers of jobs": true, "claim of a match": true, "offer": true}

// fewBlocks is more than a look for a few rows takes, and less than an index that is read
// from end to end.
const fewBlocks = 60

// tables that a plan may not read from end to end.
var tables = map[string]bool{"job": true, "job_dependency": true, "job_ready": true, "job_lease": true, "job_offer": true, "attempt": true,
	"event": true}

func assertPlan(t *testing.T, name string, node map[string]any) {
	t.Helper()
	kind, _ := node["Node Type"].(string)
	relation, _ := node["Relation Name"].(string)
	children, _ := node["Plans"].([]any)
	if strings.Contains(kind, "Sort") {
		// What goes in counts: a limit above takes only the first few out.
		input, _ := children[0].(map[string]any)["Actual Rows"].(float64)
		if input > 10 {
			t.Errorf("%s: the plan sorts %v rows", name, input)
		}
	}
	removed, _ := node["Rows Removed by Filter"].(float64)
	if rows, _ := node["Actual Rows"].(float64); kind == "Seq Scan" && tables[relation] && rows+removed > 10 {
		t.Errorf("%s: the plan reads all of %s", name, relation)
	}
	if removed > 10 && tables[relation] {
		t.Errorf("%s: %s on %s threw %v rows away (index %v, %v)", name, kind, relation, removed, node["Index Name"], node["Index Cond"])
	}
	hit, _ := node["Shared Hit Blocks"].(float64)
	read, _ := node["Shared Read Blocks"].(float64)
	if tables[relation] && strings.Contains(kind, "Scan") && hit+read > fewBlocks {
		t.Errorf("%s: %s on %s read %v blocks (index %v, %v)", name, kind, relation, hit+read, node["Index Name"], node["Index Cond"])
	}
	if relation == "job_ready" && strings.Contains(kind, "Scan") {
		if rows, _ := node["Actual Rows"].(float64); rows > 3 {
			t.Errorf("%s: %v rows of job_ready were read for one", name, rows)
		}
	}
	for _, child := range children {
		if plan, ok := child.(map[string]any); ok {
			assertPlan(t, name, plan)
		}
	}
}

// capture stands in for a connection and keeps the statement that was to be run.
type capture struct {
	dbsqlc.DBTX
	sql  string
	args []any
}

var errCaptured = errors.New("captured")

// QueryRow is Query for one row.
func (c *capture) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	c.sql, c.args = sql, args
	return noRow{}
}

type noRow struct{}

// Scan gives nothing.
func (noRow) Scan(...any) error { return errCaptured }

// Exec is Query for no rows.
func (c *capture) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	c.sql, c.args = sql, args
	return pgconn.CommandTag{}, errCaptured
}

// Query keeps the statement instead of running it.
func (c *capture) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	c.sql, c.args = sql, args
	return nil, errCaptured
}
