package api_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// A claim says which size of model a job is worth and why: the one that a person wants, or
// that of the estimate.
func TestAClaimSaysTheTier(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	for want, job := range map[string]object{"large": {"complexity": 5}, "small": {"estimated_minutes": 15, "priority": 8},
		"standard": {"priority": 10, "tier": "standard"}} {
		key := w.as(w.owner, "POST", "/jobs", merge(object{"title": "One"}, job)).want(201).text("key")
		claimed := w.as(ada, "POST", "/fleet/claim", object{"job": key}).want(200)
		estimate := w.as(w.owner, "GET", "/jobs/"+key+"/estimate", nil).want(200)
		why := claimed.text("jobs", 0, "tier_why")
		if claimed.text("jobs", 0, "tier") != want || estimate.text("tier") != want || why == "" || !strings.HasSuffix(estimate.text("why"), why) {
			t.Errorf("%v is worth %s: %s; the estimate says %s", job, claimed.text("jobs", 0, "tier"), why, estimate.raw)
		}
		w.as(ada, "POST", "/fleet/complete", object{"job": key, "epoch": 1}).want(200)
	}
}

// A job that exists and one that does not get the same estimate: of the formula as long
// as no job has finished, and of those like it afterwards. What a person wants is the tier.
func TestEstimates(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	key := w.as(w.owner, "POST", "/jobs", object{"title": "Fix", "kind": "fix", "estimated_minutes": 200, "tier": "large"}).want(201).text("key")
	cold := w.as(w.owner, "GET", "/jobs/"+key+"/estimate", nil).want(200)
	if read := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200).text("estimated_usd"); read != cold.text("p50_usd") {
		t.Errorf("the job says $%s, its estimate $%s", read, cold.text("p50_usd"))
	}
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
