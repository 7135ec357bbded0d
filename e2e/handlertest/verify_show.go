package handlertest

import (
	"encoding/json"
	"fmt"

	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Verified makes a product whose work is verified by another agent, for jobs that InBooks changes.
func (w *Workspace) Verified(change ...func(*jobs.ProductSettings)) {
	w.t.Helper()
	p := jobs.ProductSettings{Repos: []string{"ledger-api"}, Verify: jobs.Verify{Mode: jobs.VerifyByAgent}}
	for _, c := range change {
		c(&p)
	}
	w.Product("books", p)
}

// InBooks puts a job into the product that Verified makes.
func InBooks(n *jobs.New) { n.Product = "books" }

// HandInAgain has an agent claim the job that it may have and hand it in with a commit.
func (w *Workspace) HandInAgain(agent tenancy.Principal, commit string) jobs.Job {
	w.t.Helper()
	j := w.Claim(agent)
	done, err := w.OtherProcess.Complete(w.t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, report.Completion{Commit: commit})
	if err != nil {
		w.t.Fatal(err)
	}
	return done.Job
}

// Says has an agent give its verdict in the verify job that it holds.
func (w *Workspace) Says(agent tenancy.Principal, held jobs.Job, verdict string) {
	w.t.Helper()
	if _, err := w.OtherProcess.Complete(w.t.Context(), agent, lease.Ref{Job: held.Key, Epoch: held.Epoch},
		report.Completion{Result: json.RawMessage(verdict)}); err != nil {
		w.t.Fatal(err)
	}
}

// Changes is a verdict that wants changes, with one criterion and one finding.
func Changes(criterion, evidence, finding string) string {
	text := func(s string) string {
		out, _ := json.Marshal(s)
		return string(out)
	}
	return fmt.Sprintf(`{"verdict": "changes", "criteria": [{"text": %s, "met": "no", "evidence": %s}],
		"findings": [{"path": "a.go", "line": 3, "severity": "minor", "text": "Too long."},
			{"path": "b.go", "line": 7, "severity": "blocker", "text": %s}]}`,
		text(criterion), text(evidence), text(finding))
}
