package audit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/coordinator/audit"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

// damages are, of each stored field of a job, a value that it does not have; or why
// nothing is to be found. A new column belongs here, into jobs.State and into the
// query AuditHistories.
var damages = map[string]map[string]struct{ value, why string }{
	"job": {
		"workspace_id": {why: "the place of the row: a job of another workspace is another job"},
		"id":           {why: "the identity of the row: a job of another id is another job, of which the log tells nothing"},
		"key":          {value: "'FB-X'"}, "title": {value: "'x'"}, "kind": {value: "'x'"},
		"product_id":   {value: "(SELECT id FROM product WHERE name = 'other')"},
		"repo":         {value: "'x'"},
		"phase":        {value: "'x'"},
		"priority":     {value: "1"},
		"capabilities": {value: "'{has:x}'"},
		"factory":      {value: "'x'"},
		"lane_id":      {value: "(SELECT min(n.id) FROM lane n WHERE n.id <> job.lane_id)"},
		"tags":         {value: "'{x}'"},
		"status":       {value: "'blocked'"},
		"wait_reason":  {value: "'budget'"},
		"question":     {value: "'x'"},
		"answer":       {value: "'x'"},
		"status_by":    {value: "'x'"}, "status_by_kind": {value: "'x'"}, "status_by_id": {value: "'x'"}, "carried_out_by": {value: `'{"name": "x"}'`},
		"status_at":     {value: "status_at - interval '1 microsecond'"},
		"epoch":         {value: "epoch + 1"},
		"attempts":      {value: "attempts + 1"},
		"failure_count": {value: "7"}, "lost_count": {value: "7"}, "max_retries": {value: "7"}, "max_lost": {value: "7"},
		"blocked_reason":        {value: "'x'"},
		"retry_backoff_seconds": {value: "7"},
		"last_error":            {value: "'x'"},
		"feedback":              {value: "'x'"},
		"progress_percent":      {value: "7"},
		"current_step":          {value: "'x'"},
		"checkpoint":            {value: `'{"x": 1}'`},
		"result":                {value: `'{"x": 1}'`},
		"review_required":       {value: "false"},
		"estimated_complexity":  {value: "'x'"},
		"estimated_minutes":     {value: "7"},
		"token_budget":          {value: "7"}, "budget_nanos": {value: "7"}, "complexity": {value: "3"}, "tier": {value: "'large'"},
		"not_before":      {value: "now()"},
		"idempotency_key": {value: "'x'"},
		"version":         {value: "version + 1"},
		"created_by":      {value: "'x'"},
		"created_at":      {value: "created_at - interval '1 microsecond'"},
		"updated_at":      {value: "updated_at - interval '1 microsecond'"},
		"ready_at":        {value: "now()"}, "assigned_at": {value: "now()"}, "started_at": {value: "now()"},
		"completed_at": {value: "now()"}, "failed_at": {value: "now()"},
		"waits_for_children": {value: "true"},
		"files":              {value: "'{x}'"}, "files_touched": {value: "'{x}'"},
		"failure_kind":  {value: "'crash'"},
		"root_id":       {why: "follows from the links of the jobs, which the log tells; it only bounds what agents file"},
		"depth":         {why: "as root_id"},
		"approved_head": {value: "'x'"}, "merged_commit": {value: "'x'"}, "url": {value: "'https://x.example'"},
	},
	"job_text": {
		"workspace_id":   {why: "the place of the row: audit finds texts without a job"},
		"job_id":         {why: "the identity of the row: audit finds texts without a job"},
		"body":           {value: "'x'"},
		"acceptance":     {value: `'["x"]'`},
		"acceptance_met": {value: `'[true]'`},
		"input_context":  {value: `'{"x": 1}'`},
		"secret_keys":    {value: "'{x}'"},
	},
}

// Whatever is changed of a stored job, in any column that there is, the log knows
// better.
func TestAChangeOfAnyColumnIsFound(t *testing.T) {
	w := newTestWorkspace(t)
	ctx := t.Context()
	if _, _, err := w.jobs.PutProduct(ctx, w.owner, "other", jobs.ProductSettings{}); err != nil {
		t.Fatal(err)
	}
	w.job(jobs.New{Spec: jobs.Spec{Title: "Of another lane", Capabilities: []string{"has:other"}}})
	yes := true
	j := w.job(jobs.New{Spec: jobs.Spec{Title: "One", Body: strings.Repeat("long ", 500), Acceptance: []string{"so"},
		ReviewOverride: &yes}})
	w.clean(audit.Verify)
	w.damage(`ALTER TABLE job DISABLE TRIGGER ALL`)
	for _, c := range []string{"job_check", "job_check1", "job_check2"} {
		w.damage(`ALTER TABLE job DROP CONSTRAINT IF EXISTS ` + c)
	}
	for table, id := range map[string]string{"job": "id", "job_text": "job_id"} {
		columns := strings.Fields(dbfactory.Text(t, w.db, `SELECT string_agg(attname, ' ') FROM pg_attribute
			WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`, table))
		if len(columns) != len(damages[table]) {
			t.Errorf("%s has %d columns, the test knows %d", table, len(columns), len(damages[table]))
		}
		for _, column := range columns {
			c, known := damages[table][column]
			if !known {
				t.Errorf("%s.%s is not known: does the log tell it?", table, column)
			}
			if c.value == "" {
				continue
			}
			w.damage(fmt.Sprintf(`CREATE TABLE kept AS SELECT * FROM %s`, table))
			w.damage(fmt.Sprintf(`UPDATE %s SET %s = %s WHERE %s = $1`, table, column, c.value, id), j.ID)
			if r := w.look(audit.Verify); r.Found() == 0 {
				t.Errorf("%s.%s: nothing was found", table, column)
			}
			w.damage(fmt.Sprintf(`DELETE FROM %s`, table))
			w.damage(fmt.Sprintf(`INSERT INTO %s SELECT * FROM kept`, table))
			w.damage(`DROP TABLE kept`)
		}
	}
	w.clean(audit.Verify)
}

// A content that was changed or taken away is found as well.
func TestAChangedContentIsFound(t *testing.T) {
	w := newTestWorkspace(t)
	j := w.job(jobs.New{Spec: jobs.Spec{Title: "One", Body: strings.Repeat("long ", 500)}})
	w.clean(audit.Verify)
	w.damage(`UPDATE content SET body = '"short"'`)
	w.finds(audit.Verify, "history", j, "is not there or was changed")
	w.damage(`DELETE FROM event_content`)
	w.damage(`DELETE FROM content`)
	w.finds(audit.Verify, "history", j, "is not there or was changed")
}
