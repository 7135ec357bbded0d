package bus

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/dispatchtest"
)

// The list of threads looks at some hundred messages at once, however many there are and
// whatever is known of them.
func TestThePlansOfThreads(t *testing.T) {
	w := dispatchtest.New(t)
	s := NewService(w.DB, w.Wake, w.Jobs.Secrets, nil, nil)
	t.Cleanup(s.Close)
	dbfactory.Exec(t, w.DB, `INSERT INTO message (workspace_id, seq, id, type, from_kind, from_name, to_kind, to_name, correlation_id, payload, digest)
		SELECT $1, n, gen_random_uuid(), 'custom.note', 'agent', 'ada', 'all', '', 'thread ' || n % 2000, '{"text": "x"}', decode(repeat('00', 32), 'hex')
		FROM generate_series(1, 30000) n`, w.Workspace)
	for _, when := range []string{`SELECT 1`, `ANALYZE`, `DELETE FROM pg_statistic`} {
		dbfactory.Exec(t, w.DB, when)
		for _, before := range []int64{1 << 62, 15_000} {
			assertBounded(t, w, when, before)
		}
	}
	list, next, err := s.Threads(t.Context(), w.Owner, false, 0, 40)
	if err != nil || len(list) != 40 || next != 29_961 || list[0].Last.CorrelationID != "thread 0" {
		t.Errorf("%d threads, next %d, %v", len(list), next, err)
	}
}

// What agents and people wrote is found behind many notices, and the other way round.
func TestThreadsBehindNotices(t *testing.T) {
	w := dispatchtest.New(t)
	s := NewService(w.DB, w.Wake, w.Jobs.Secrets, nil, nil)
	t.Cleanup(s.Close)
	dbfactory.Exec(t, w.DB, `INSERT INTO message (workspace_id, seq, id, type, from_kind, from_name, to_kind, to_name, correlation_id, payload, digest)
		SELECT $1, n, gen_random_uuid(), 'custom.note', CASE WHEN n % 25000 < 3 THEN 'agent' ELSE 'system' END, 'ada', 'all', '',
			'thread ' || n, '{"text": "x"}', decode(repeat('00', 32), 'hex') FROM generate_series(1, 49999) n`, w.Workspace)
	for _, c := range []struct {
		notices bool
		before  int64
		want    []int64
	}{{false, 0, []int64{25_002, 25_001, 25_000}}, {true, 25_003, []int64{24_999, 24_998, 24_997}}} {
		list, _, err := s.Threads(t.Context(), w.Owner, c.notices, c.before, 3)
		var got []int64
		for _, one := range list {
			got = append(got, one.Last.Seq)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("notices %t before %d: %v, %v", c.notices, c.before, got, err)
		}
	}
}

var errExplained = errors.New("explained")

// explained has a query explained in place of being answered.
type explained struct {
	db.Tx

	plan *[]byte
}

func (e explained) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := e.QueryRow(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) "+sql, args...).Scan(e.plan); err != nil {
		return nil, err
	}
	return nil, errExplained
}

func assertBounded(t *testing.T, w *dispatchtest.Fixture, when string, before int64) {
	t.Helper()
	var raw []byte
	err := w.DB.In(t.Context(), db.Workspace(w.Workspace), func(tx db.Tx) error {
		_, err := threadEndsTx(t.Context(), explained{tx, &raw}, w.Workspace, false, before, threadScan)
		return err
	})
	if !errors.Is(err, errExplained) {
		t.Fatal(err)
	}
	var plans []struct{ Plan map[string]any }
	if err := json.Unmarshal(raw, &plans); err != nil {
		t.Fatal(err)
	}
	var walk func(node map[string]any)
	walk = func(node map[string]any) {
		number := func(of string) float64 { n, _ := node[of].(float64); return n }
		if read := (number("Actual Rows") + number("Rows Removed by Filter")) * number("Actual Loops"); read > 2*threadScan {
			t.Errorf("%s, before %d: a %v of %v goes through %.0f rows", when, before, node["Node Type"], node["Relation Name"], read)
		}
		children, _ := node["Plans"].([]any)
		for _, child := range children {
			walk(child.(map[string]any))
		}
	}
	walk(plans[0].Plan)
}
