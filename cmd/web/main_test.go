package main_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db/dbtest"
)

// build compiles the command.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "fleetboard")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// result is how a run ended.
type result struct {
	code        int
	out, errors string
}

func run(t *testing.T, program string, env []string, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+t.TempDir())
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// wants fails the test where the exit code or a piece of the output is missing.
func (r result) wants(t *testing.T, code int, pieces ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d; want %d", r.code, code)
	}
	for _, p := range pieces {
		if !strings.Contains(r.out+r.errors, p) {
			t.Errorf("%q is missing", p)
		}
	}
	if t.Failed() {
		t.Fatalf("output:\n%s%s", r.out, r.errors)
	}
}

// A clean database gives 0, a damaged one 1 and the job's key, one that cannot
// be queried 2. The commands change nothing, whatever they find.
func TestTheAuditorTellsWhatItFoundByItsExitCode(t *testing.T) {
	t.Parallel()
	program, url := build(t), dbtest.URL(t)
	env := []string{"DATABASE_URL=" + url}
	owner, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(t.Context())
	do := func(sql string) {
		t.Helper()
		if _, err := owner.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for _, sql := range []string{
		`INSERT INTO workspace (id, slug, name) VALUES (gen_random_uuid(), 'kestrel', 'Kestrel')`,
		`INSERT INTO product (workspace_id, id, name) SELECT id, gen_random_uuid(), 'default' FROM workspace`,
		`INSERT INTO lane (workspace_id, needs, digest, product_id) SELECT workspace_id, '{}', '', id FROM product`,
		`INSERT INTO job (workspace_id, id, key, title, product_id, lane_id, status, status_by, status_by_kind, created_by)
			SELECT workspace_id, gen_random_uuid(), 'FB-7', E'A \u009b31m title', product_id, id, 'blocked', 'test', 'person', 'test' FROM lane`,
		`INSERT INTO job_text (workspace_id, job_id) SELECT workspace_id, id FROM job`,
		`INSERT INTO event (workspace_id, type, job_id, actor, actor_kind, saved_at, changes) SELECT workspace_id, 'job.created', id, 'test', 'person', created_at,
			jsonb_build_array(jsonb_build_object('field', 'status', 'new', status), jsonb_build_object('field', 'title', 'new', title),
			jsonb_build_object('field', 'priority', 'new', priority), jsonb_build_object('field', 'product', 'new', 'default'), jsonb_build_object('field', 'key', 'new', key),
			jsonb_build_object('field', 'max_retries', 'new', 3), jsonb_build_object('field', 'max_lost', 'new', 5),
			jsonb_build_object('field', 'retry_backoff_seconds', 'new', 300),
			jsonb_build_object('field', 'input_context', 'new', '{}'::jsonb)) FROM job`,
	} {
		do(sql)
	}
	run(t, program, env, "audit").wants(t, 0, "Looked at 1 jobs of 1 workspaces.", "     0  lease", "     0  repo_slot")
	run(t, program, env, "verify-log").wants(t, 0, "Looked at 1 jobs of 1 workspaces.", "     0  state")

	do(`INSERT INTO job_ready (workspace_id, lane_id, priority, ready_at, place, job_id) SELECT workspace_id, lane_id, priority, now(), now(), id FROM job`)
	run(t, program, env, "audit").wants(t, 1, "     1  ready", "kestrel FB-7: ready: it is blocked and in the queue")
	run(t, program, env, "verify-log").wants(t, 0)
	do(`UPDATE job SET title = 'Another', phase = E'M1\u009b'`)
	told := run(t, program, env, "verify-log")
	told.wants(t, 1, "     1  state", "kestrel FB-7: state: the job and its events differ: phase: ", `title: "Another", "A ?31m title"`)
	run(t, program, env, "audit").wants(t, 1)
	if strings.Contains(told.out, "\u009b") {
		t.Error("a control character reached the terminal")
	}

	run(t, program, env, "verify-log", "--repair").wants(t, 1, "becomes", "[y/N]", "     1  state")
	run(t, program, env, "verify-log", "--repair", "--yes").wants(t, 0, `title: "Another" becomes "A ?31m title"`, "1 jobs were written, 0 were not.", "     0  state")
	do(`DELETE FROM job_ready`)
	run(t, program, env, "audit").wants(t, 0)
	run(t, program, env, "show", "FB-7").wants(t, 0, "title                  \"A ?31m title\"", "version                2")
	run(t, program, env, "show", "FB-7", "--at", "2001-01-01T00:00:00Z").wants(t, 2, "it was not there yet")
	run(t, program, env, "show", "FB-8").wants(t, 2, "there is no job FB-8")
	run(t, program, env, "show", "FB-7", "--at", "noon").wants(t, 2, "--at must be a time")
	do(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (90000, true)`)
	for command, code := range map[string]int{"audit": 2, "verify-log": 2, "serve": 1} {
		run(t, program, append(env, "FLEETBOARD_DATA_DIR="+t.TempDir(), "FLEETBOARD_LISTEN=127.0.0.1:0"), command).
			wants(t, code, "the database has schema 90000 and this program knows those up to")
	}
	do(`DELETE FROM goose_db_version WHERE version_id = 90000`)

	do(`ALTER TABLE attempt RENAME TO elsewhere`)
	run(t, program, env, "audit").wants(t, 2, "not everything was looked at")
	run(t, program, []string{"DATABASE_URL=postgres://nobody@127.0.0.1:1/none"}, "audit").wants(t, 2, "not everything was looked at")
	run(t, program, []string{"FLEETBOARD_LISTEN=nonsense"}, "verify-log").wants(t, 2, "FLEETBOARD_LISTEN")
}

// Where there is no database yet, none is made.
func TestTheAuditorMakesNoDatabase(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	run(t, build(t), []string{"FLEETBOARD_DATA_DIR=" + dir}, "audit").wants(t, 2, "there is no database in "+dir)
	if _, err := os.Stat(dir); err == nil {
		t.Error("the data directory was made")
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	program := build(t)
	run(t, program, nil, "help").wants(t, 0, "Usage: fleetboard", "verify-log")
	run(t, program, []string{"FLEETBOARD_LISTEN=127.0.0.1:1"}, "ready").wants(t, 1, "no server answers")
	run(t, program, nil, "--version").wants(t, 0, "fleetboard ", ", schema ")
	run(t, program, nil, "frobnicate").wants(t, 2, `no command "frobnicate"`, "Usage: fleetboard")
	run(t, program, nil, "audit", "now").wants(t, 2, "Usage: fleetboard")
}
