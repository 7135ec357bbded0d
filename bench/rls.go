package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db/dbsqlc"
	"github.com/fleetboard/fleetboard/internal/ids"
)

const (
	// rlsLimit is how much dearer a statement may be with policies.
	rlsLimit = 1.15
	rlsPairs = 2000
	// rlsWarm is how often each statement runs before it is measured: prepared,
	// planned for good, and with its pages in memory.
	rlsWarm = 100
)

// rlsSizes returns how often a statement is measured and warmed up: less on a small
// dataset, which has few jobs to take.
func rlsSizes(rows int) (pairs, warm int) { return min(rlsPairs, rows/200), min(rlsWarm, rows/500) }

// freeRole reads the same tables with the same rights, past every policy. It is
// made in the bench's own cluster and exists nowhere else.
const freeRole = "fleetboard_bench_free"

// side is one of the two that are compared: a connection of its own, since a
// prepared statement is planned anew where the role changes.
type side struct {
	role string
	conn *pgx.Conn
}

// statement is one of the hottest ones, or two that always run together. n numbers the call; both
// sides get the same numbers. It returns how many rows it had.
type statement struct {
	name string
	ask  func(ctx context.Context, tx pgx.Tx, n int) (int, error)
}

func init() {
	register(line{"rls", "what row-level security costs the hottest statements", rls})
}

// rls measures each statement with the policies and without, by turns. Both
// sides open their transaction alike, as package db does: a role and the
// workspace in the round trip that begins it. Only the statement is timed, as the
// client sees it.
func rls(ctx context.Context, s *environment) ([]figure, error) {
	t, err := s.dataset(ctx)
	if err != nil {
		return nil, err
	}
	for _, sql := range []string{"CREATE ROLE " + freeRole + " NOLOGIN BYPASSRLS", "GRANT fleetboard_app TO " + freeRole} {
		if _, err := s.owner.Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	with, err := s.side(ctx, "fleetboard_app")
	if err != nil {
		return nil, err
	}
	defer with.close()
	without, err := s.side(ctx, freeRole)
	if err != nil {
		return nil, err
	}
	defer without.close()
	if err := assertSides(ctx, t.workspace, with, without); err != nil {
		return nil, err
	}
	pairs, warm := rlsSizes(s.rows)
	scope, err := scopeCost(ctx, t.workspace, with, without, pairs)
	if err != nil {
		return nil, err
	}
	all := []figure{scope}
	for _, st := range t.statements() {
		f, err := compare(ctx, t.workspace, st, with, without, pairs, warm)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", st.name, err)
		}
		s.sayf("%s: %.1f µs with policies, %.1f µs without", st.name, f.Ours, f.Other)
		all = append(all, f)
	}
	return all, nil
}

// compare runs a statement on both sides by turns, the one first that was last.
func compare(ctx context.Context, workspace ids.ID, st statement, with, without *side, pairs, warm int) (figure, error) {
	sides := [2]*side{with, without}
	var times [2][]float64
	var ratios []float64
	for i := range warm + pairs {
		var took [2]time.Duration
		var rows [2]int
		for _, which := range [][2]int{{0, 1}, {1, 0}}[i%2] {
			var err error
			if took[which], rows[which], err = sides[which].run(ctx, workspace, st, i); err != nil {
				return figure{}, err
			}
		}
		if rows[0] != rows[1] || rows[0] == 0 {
			return figure{}, fmt.Errorf("%d rows with policies, %d without; it must be as many, and some", rows[0], rows[1])
		}
		if i < warm {
			continue
		}
		for which, d := range took {
			times[which] = append(times[which], float64(d.Nanoseconds())/1000)
		}
		ratios = append(ratios, float64(took[0])/float64(took[1]))
	}
	return figure{Name: st.name, Ours: median(times[0]), Other: median(times[1]), Unit: "µs", Ratio: median(ratios), AtMost: rlsLimit,
		Runs: pairs}, nil
}

func (s *environment) side(ctx context.Context, role string) (*side, error) {
	conn, err := pgx.Connect(ctx, s.postgres.URL())
	if err != nil {
		return nil, err
	}
	return &side{role: role, conn: conn}, nil
}

func (s *side) close() { _ = s.conn.Close(context.Background()) }

// run times one statement in a transaction of the workspace.
func (s *side) run(ctx context.Context, workspace ids.ID, st statement, n int) (took time.Duration, rows int, err error) {
	tx, err := s.begin(ctx, workspace)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	rows, err = st.ask(ctx, tx, n)
	took = time.Since(began)
	if err != nil {
		return 0, 0, errors.Join(err, tx.Rollback(ctx))
	}
	return took, rows, tx.Commit(ctx)
}

// begin opens a transaction as package db does.
func (s *side) begin(ctx context.Context, workspace ids.ID) (pgx.Tx, error) {
	var b pgx.Batch
	b.BeginTx(pgx.TxOptions{})
	b.Queue(`SELECT set_config('role', $1, true), set_config($2, $3, true),
		set_config('statement_timeout', '5s', true), set_config('lock_timeout', '2s', true),
		set_config('idle_in_transaction_session_timeout', '10s', true)`, s.role, "app.workspace_id", workspace.String())
	results := s.conn.SendBatch(ctx, &b)
	tx := results.Tx()
	return tx, results.Close()
}

// scopeCost returns what the beginning of a transaction takes that carries its role,
// its workspace and its limits, against a bare BEGIN; each is one round trip.
// A server without policies would still want the limits, so this has no limit of
// its own.
func scopeCost(ctx context.Context, workspace ids.ID, scoped, bare *side, pairs int) (figure, error) {
	var times [2][]float64
	var ratios []float64
	for range pairs {
		var took [2]time.Duration
		for i, open := range []func() (pgx.Tx, error){
			func() (pgx.Tx, error) { return scoped.begin(ctx, workspace) },
			func() (pgx.Tx, error) { return bare.conn.Begin(ctx) },
		} {
			began := time.Now()
			tx, err := open()
			if err != nil {
				return figure{}, err
			}
			took[i] = time.Since(began)
			if err := tx.Rollback(ctx); err != nil {
				return figure{}, err
			}
			times[i] = append(times[i], float64(took[i].Nanoseconds())/1000)
		}
		ratios = append(ratios, float64(took[0])/float64(took[1]))
	}
	return figure{Name: "transaction: begin with its scope; bare", Ours: median(times[0]), Other: median(times[1]), Unit: "µs",
		Ratio: median(ratios), Runs: pairs}, nil
}

// assertSides makes sure that policies are in force on one side and not on the other.
func assertSides(ctx context.Context, workspace ids.ID, with, without *side) error {
	for side, want := range map[*side]bool{with: true, without: false} {
		tx, err := side.begin(ctx, workspace)
		if err != nil {
			return err
		}
		var active bool
		var role string
		err = tx.QueryRow(ctx, `SELECT row_security_active('job'), current_user::text`).Scan(&active, &role)
		if err = errors.Join(err, tx.Rollback(ctx)); err != nil {
			return err
		}
		if active != want || role != side.role {
			return fmt.Errorf("policies are active %t for %s", active, role)
		}
	}
	return nil
}

// statements returns the ones that a busy server runs most. Each call of a number
// reads other rows.
func (t *dataset) statements() []statement {
	q := dbsqlc.New()
	agent := func(n int) datasetAgent { return t.agents[n%len(t.agents)] }
	lane := func(n int) int64 { return t.lanes[n%len(t.lanes)] }
	tops := dbsqlc.ReadyHeadsParams{WorkspaceID: t.workspace, Lanes: t.lanes, Priorities: make([]int, len(t.lanes)),
		Places: make([]time.Time, len(t.lanes)), TieBreaks: make([][]byte, len(t.lanes))}
	for i := range tops.Priorities {
		tops.Priorities[i] = math.MaxInt16
	}
	// Jobs of the measured workspace have even numbers.
	job := func(n int) ids.ID { return townID("e", 2*(1+n%400)) }
	return []statement{
		{"heartbeat: keep the leases of an agent", func(ctx context.Context, tx pgx.Tx, n int) (int, error) {
			kept, err := q.AgentsBeat(ctx, tx, dbsqlc.AgentsBeatParams{WorkspaceID: t.workspace, Ids: []ids.ID{agent(n).ID},
				BootIds:     []string{""},
				Generations: []int64{math.MaxInt64}, Statuses: []string{"working"}, MemoryMb: []int{-1}, CpuPercent: []float32{-1}})
			return len(kept), err
		}},
		{"claim: the head of each lane", func(ctx context.Context, tx pgx.Tx, _ int) (int, error) {
			heads, err := q.ReadyHeads(ctx, tx, tops)
			return len(heads), err
		}},
		{"claim: take one job", func(ctx context.Context, tx pgx.Tx, n int) (int, error) {
			taken, err := q.ReadyTake(ctx, tx, dbsqlc.ReadyTakeParams{WorkspaceID: t.workspace, LaneID: lane(n),
				FromPriority: math.MaxInt16, MaxRows: 1})
			if err != nil || len(taken) == 0 {
				return 0, err
			}
			got, err := q.LeasesInsert(ctx, tx, dbsqlc.LeasesInsertParams{WorkspaceID: t.workspace, JobIds: []ids.ID{taken[0].JobID},
				AgentIds: []ids.ID{agent(n).ID}, Agents: []string{"agent-1"}, FactoryIds: []ids.ID{agent(n).Factory},
				Factories: []string{"factory-1"}, Models: []string{"sonnet"}, SessionKeys: []string{""}, RequestIds: []string{""},
				TtlSeconds: []int{7200}})
			return len(got), err
		}},
		{"board: the first 50 of a column", func(ctx context.Context, tx pgx.Tx, _ int) (int, error) {
			list, err := q.BoardOpen(ctx, tx, dbsqlc.BoardOpenParams{WorkspaceID: t.workspace, Statuses: []string{"ready"},
				AfterPriority: 100,
				Lanes:         []int64{}, MaxRows: 51, MaxScan: 51,
				Products: []string{}, Repos: []string{}, Phases: []string{}, Factories: []string{}})
			return len(list), err
		}},
		{"board: 50 cards", func(ctx context.Context, tx pgx.Tx, n int) (int, error) {
			list := make([]ids.ID, 50)
			for i := range list {
				list[i] = job(n + i)
			}
			cards, err := q.JobFullByIDs(ctx, tx, list, t.workspace)
			return len(cards), err
		}},
		{"job: by its key, all of it", func(ctx context.Context, tx pgx.Tx, n int) (int, error) {
			id, err := q.JobID(ctx, tx, t.workspace, fmt.Sprint("FB-", 1+n%400))
			if err != nil {
				return 0, err
			}
			_, err = q.JobFullByID(ctx, tx, t.workspace, id)
			return 1, err
		}},
		{"log: the next 50 events", func(ctx context.Context, tx pgx.Tx, n int) (int, error) {
			list, err := q.EventTail(ctx, tx, t.workspace, fmt.Sprint(3+n%400), 0, 50)
			return len(list), err
		}},
		{"log: append an event", func(ctx context.Context, tx pgx.Tx, n int) (int, error) {
			id := job(n)
			return 1, q.EventAppend(ctx, tx, dbsqlc.EventAppendParams{WorkspaceID: t.workspace, Type: "job.edited", JobID: &id,
				Actor:     "Mara",
				ActorKind: "person", ActorID: townID("1", 1).String(), Changes: []byte(`[{"field": "priority", "old": 5, "new": 8}]`),
				Payload: []byte(`{}`)})
		}},
	}
}

// townID returns the id that loading gives a row.
func townID(kind string, n int) ids.ID {
	id, _ := ids.Parse(fmt.Sprintf("01900000-000%s-7000-8000-%012x", kind, n))
	return id
}
