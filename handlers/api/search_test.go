package api_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/jobstest"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// Jobs are found by their texts and then by their logs, by people and agents who read them,
// and logs hold no secret to be found.
func TestJobsAreSearched(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	w.job("A needle in the title")
	key := w.job("Quiet")
	for range 2 {
		job := w.claim(ada)["job"]
		w.as(ada, "POST", "/fleet/logs", object{"job": job, "epoch": 1, "lines": []object{logLine("INFO", "looking"), logLine("WARNING", "a Needle!")}}).want(200)
		w.as(ada, "POST", "/fleet/complete", object{"job": job, "epoch": 1}).want(200)
	}
	jobstest.IndexTexts(t, w.db)
	jobstest.IndexLogs(t, w.db, 2)
	for _, token := range []string{w.owner, ada} {
		a := w.as(token, "GET", "/search/jobs?q=needle", nil).want(200)
		if a.count("items") != 2 || a.at("items", 0, "log") != nil || a.text("items", 1, "job", "key") != key ||
			a.text("items", 1, "passage") != "a \x02Needle\x03!" || a.number("items", 1, "log", "epoch") != 1 ||
			a.text("items", 1, "log", "line", "level") != "WARNING" {
			t.Errorf("found %s", a.raw)
		}
		for query, want := range map[string]int{"needle&in=jobs": 1, "needle&in=logs": 2, "needle&in=logs&limit=1": 1, "absent": 0} {
			if n := w.as(token, "GET", "/search/jobs?q="+query, nil).want(200).count("items"); n != want {
				t.Errorf("%s finds %d; want %d", query, n, want)
			}
		}
	}
	w.as(w.owner, "GET", "/search/jobs?q=%21", nil).want(422).refused(fault.Validation, "q")
	for _, query := range []string{"?q=x&in=messages", "?q=x&limit=51", "?q=" + strings.Repeat("x", 201)} {
		w.as(w.owner, "GET", "/search/jobs"+query, nil).want(422)
	}
}
