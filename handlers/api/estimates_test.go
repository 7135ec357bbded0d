package api_test

import (
	"testing"

	"fleetboard/db/dbfactory"
	"fleetboard/internal/fault"
)

// A job that exists and one that does not get the same estimate: of the formula as long
// as no job has finished, and of those like it afterwards. What a person wants is the tier.
func TestEstimates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.as(w.owner, "POST", "/jobs", object{"title": "Fix", "kind": "fix", "estimated_minutes": 200, "tier": "large"}).want(201).text("key")
	cold := w.as(w.owner, "GET", "/jobs/"+key+"/estimate", nil).want(200)
	if cold.text("source") != "formula" || cold.number("samples") != 0 || cold.text("tier") != "large" || cold.text("p50_usd") != "0.129168000" {
		t.Errorf("a cold start: %s", cold.raw)
	}
	dbfactory.Exec(t, w.db, `INSERT INTO job_cost (workspace_id, job_id, ended_at, kind, repo, complexity, priority, failures, model, input_tokens,
			cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens, tokens, cost_nanos)
		SELECT workspace_id, gen_random_uuid(), now(), 'fix', '', 4, 5, 0, 'm', 0, 0, 0, 0, 1000000, 1000000, 2500000000
		FROM job, generate_series(1, 100)`)
	for _, call := range []answer{w.as(w.owner, "GET", "/jobs/"+key+"/estimate", nil),
		w.as(w.owner, "POST", "/estimates", object{"kind": "fix", "complexity": 4, "product": "default", "engine": "codex", "priority": 9})} {
		call.want(200)
		if call.text("source") != "history" || call.number("samples") != 100 || call.text("tier") != "large" || call.text("p50_usd") < "2.48" || call.text("p50_usd") > "2.51" {
			t.Errorf("after a hundred jobs: %s", call.raw)
		}
	}
	w.as(w.owner, "GET", "/jobs/none/estimate", nil).want(404).refused(fault.NotFound)
	w.as(w.owner, "POST", "/estimates", object{"complexity": 6, "estimated_minutes": 0}).want(422).refused(fault.Validation, "complexity", "estimated_minutes")
}
