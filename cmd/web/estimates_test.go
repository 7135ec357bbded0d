package main_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/db/dbtest"
)

// The replay prints how well jobs are estimated, before and after, and what tiers save.
func TestReplayOfEstimates(t *testing.T) {
	t.Parallel()
	program, url := build(t), dbtest.URL(t)
	env := []string{"DATABASE_URL=" + url}
	run(t, program, env, "estimates", "--replay").wants(t, 0, "No job has finished with a known cost yet.")
	owner, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close(t.Context())
	// A million tokens of output for $15 each, by a model whose first attempt fails in one of four.
	if _, err := owner.Exec(t.Context(), `WITH w AS (INSERT INTO workspace (id, slug, name) VALUES (gen_random_uuid(), 'kestrel', 'Kestrel') RETURNING id)
		INSERT INTO job_cost (workspace_id, job_id, ended_at, kind, repo, complexity, priority, failures, model, input_tokens,
			cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens, tokens, cost_nanos)
		SELECT w.id, gen_random_uuid(), now() + make_interval(secs => n), 'fix', '', 3, 5, n % 4 / 3, 'claude-sonnet-4-5', 0, 0, 0, 0, 1000000, 1000000, 15000000000
		FROM w, generate_series(1, 200) n`); err != nil {
		t.Fatal(err)
	}
	run(t, program, env, "estimates", "--replay").wants(t, 0, "kestrel: 200 finished jobs with a known cost",
		"before (formula)         0.0 %              0.0 %   a factor of 258.06",
		"after (history)         9", // of a hundred, the first ones apart
		"$5000.00 always with the large tier, and $3000.00 with the tier of each job", "(0 small, 200 standard, 0 large): tiers save 40.0 %",
		"They really cost $3000.00.", "once 40.0 % of their work has to be done again", "25.0 % of 200 jobs of claude-sonnet-4-5")
	run(t, program, env, "estimates").wants(t, 2, "Usage: fleetboard")
	run(t, program, env, "estimates", "--replay", "now").wants(t, 2, "Usage: fleetboard")
	run(t, program, []string{"DATABASE_URL=postgres://nobody@127.0.0.1:1/none"}, "estimates", "--replay").wants(t, 2)
}
