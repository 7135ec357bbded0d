package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// errNoPgbench says that there is nothing to compare with on this machine.
var errNoPgbench = errors.New("pgbench is not installed")

// rawScript is the least that a queue in PostgreSQL does for a job: one row is
// taken and one is finished, each in a commit of its own. No lease, no attempt,
// no event, no HTTP.
const rawScript = `WITH next AS (SELECT id FROM queue WHERE status = 'ready' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
UPDATE queue SET status = 'running' FROM next WHERE queue.id = next.id RETURNING queue.id AS job \gset
UPDATE queue SET status = 'done' WHERE id = :job;
`

// rawClients are the numbers of connections that are tried, with an eighth of the
// jobs each; the best two then take all jobs, and the best of that counts.
var rawClients = []int{1, 4, 16, 64}

const (
	rawTrial = 8
	rawBest  = 2
)

// rawLoop measures n jobs with pgbench and gives the best jobs a second.
func (s *environment) rawLoop(ctx context.Context, n int) (best float64, err error) {
	const name = "bench_raw"
	address, err := s.database(ctx, name)
	if err != nil {
		return 0, err
	}
	best, err = s.loop(ctx, "raw loop", address, rawScript, n, func(n int) error { return rawQueue(ctx, address, n) })
	return best, errors.Join(err, s.drop(ctx, name))
}

// loop plays a script of pgbench in a database, once for each of n jobs that prepare makes,
// and gives the best jobs a second.
func (s *environment) loop(ctx context.Context, name, address, sql string, n int, prepare func(n int) error) (best float64, err error) {
	program, err := pgbench()
	if err != nil {
		return 0, err
	}
	script := filepath.Join(s.dir, "loop.sql")
	if err := os.WriteFile(script, []byte(sql), 0o600); err != nil {
		return 0, err
	}
	measure := func(clients, n int) (float64, error) {
		each := max(1, n/clients)
		if err := prepare(each * clients); err != nil {
			return 0, err
		}
		// #nosec G204 -- the program was found where PostgreSQL's programs are
		out, err := exec.CommandContext(ctx, program, "--no-vacuum", "--protocol=prepared", "--client="+strconv.Itoa(clients), "--jobs=2",
			"--transactions="+strconv.Itoa(each), "--file="+script, address).CombinedOutput()
		if err != nil {
			return 0, fmt.Errorf("pgbench: %w: %s", err, out)
		}
		rate, err := tps(string(out))
		s.sayf("%s of pgbench, %d clients, %d jobs: %.0f jobs/s", name, clients, each*clients, rate)
		return rate, err
	}
	rates := map[int]float64{}
	for _, clients := range rawClients {
		if rates[clients], err = measure(clients, n/rawTrial); err != nil {
			return 0, err
		}
	}
	byRate := slices.SortedFunc(slices.Values(rawClients), func(a, b int) int { return cmp.Compare(rates[b], rates[a]) })
	for _, clients := range byRate[:rawBest] {
		rate, err := measure(clients, n)
		if err != nil {
			return 0, err
		}
		best = max(best, rate)
	}
	return best, nil
}

// rawQueue makes a queue of n jobs, which were all written out.
func rawQueue(ctx context.Context, address string, n int) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	for _, sql := range []string{
		`DROP TABLE IF EXISTS queue`,
		`CREATE TABLE queue (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, status text NOT NULL DEFAULT 'ready',
			payload text NOT NULL)`,
		`CREATE INDEX queue_ready ON queue (id) WHERE status = 'ready'`,
		fmt.Sprintf(`INSERT INTO queue (payload) SELECT repeat('x', 200) FROM generate_series(1, %d)`, n),
		`VACUUM ANALYZE queue`,
		`CHECKPOINT`,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return errors.Join(err, conn.Close(ctx))
		}
	}
	return conn.Close(ctx)
}

// tps reads pgbench's "tps = 1234.5 (without initial connection time)".
func tps(out string) (float64, error) {
	_, text, ok := strings.Cut(out, "\ntps = ")
	if !ok {
		return 0, fmt.Errorf("pgbench says no rate: %s", out)
	}
	number, _, _ := strings.Cut(text, " ")
	return strconv.ParseFloat(number, 64)
}

// pgbench finds the program: in the path, or where Debian keeps it.
func pgbench() (string, error) {
	if found, err := exec.LookPath("pgbench"); err == nil {
		return found, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if len(found) == 0 {
		return "", errNoPgbench
	}
	return slices.Max(found), nil
}
