package demo

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/fleetboard/fleetboard/api"
)

// products are those of the demo, with their repositories.
var products = map[string][]string{"payments": {"ledger-api", "checkout-web"}, "platform": {"deploy-tools"}, unreviewed: {"notebook"}}

// unreviewed is the product whose work is done without a person.
const unreviewed = "labs"

// keyPrefix is what stands before the number in the keys of the demo's jobs.
const keyPrefix = "DEMO-"

// step is one of a script, as the scripted engine takes it.
type step map[string]any

// works are what the stream of jobs is about: a repository, a title, and what is written.
var works = []struct{ repo, kind, title string }{
	{"ledger-api", "fix", "Round amounts to the cent before they are booked"},
	{"ledger-api", "feature", "Export a month of entries as CSV"},
	{"ledger-api", "test", "Cover the rollback of a failed transfer"},
	{"checkout-web", "fix", "Keep the basket when the session ends"},
	{"checkout-web", "feature", "Show delivery dates by postcode"},
	{"checkout-web", "refactor", "Take the price formatting out of the views"},
	{"deploy-tools", "fix", "Wait for health checks before traffic moves"},
	{"deploy-tools", "feature", "Print what a roll-back would change"},
	{"deploy-tools", "docs", "Describe the steps of a release"},
}

// story are jobs that belong together: one, or a chain of two or three.
func (d *demo) story() []api.NewJob {
	var jobs []api.NewJob
	for range 1 + d.draw.IntN(3) {
		d.made++
		w := works[d.draw.IntN(len(works))]
		key, priority, minutes, complexity := keyPrefix+strconv.Itoa(d.made), 3+d.draw.IntN(7), 5+d.draw.IntN(40), 1+d.draw.IntN(5)
		j := api.NewJob{
			Key:              &key,
			Title:            w.title,
			Kind:             &w.kind,
			Repo:             &w.repo,
			Priority:         &priority,
			EstimatedMinutes: &minutes,
			Complexity:       &complexity,
			Acceptance:       &[]string{"all tests pass", "the change is described in NOTES.md"},
			InputContext:     d.script(w.title),
		}
		if n := len(jobs); n > 0 {
			j.DependsOn = &[]string{*jobs[n-1].Key}
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// script returns what the agent of a job plays: it reads, writes and tests, and sometimes asks,
// fails or dies.
func (d *demo) script(title string) json.RawMessage {
	pause := func() int { return 500 + d.draw.IntN(2500) }
	model := "claude-sonnet-4-5"
	if d.draw.IntN(4) == 0 {
		model = "claude-opus-4-5"
	}
	usage := func() step {
		return step{
			"provider":           "anthropic",
			"model":              model,
			"input_tokens":       400 + d.draw.IntN(3000),
			"output_tokens":      200 + d.draw.IntN(2500),
			"cache_read_tokens":  10_000 + d.draw.IntN(90_000),
			"cache_write_tokens": d.draw.IntN(9000),
		}
	}
	steps := []step{
		{"step": "reads the code", "sleep_ms": pause(), "usage": usage(), "run": "git ls-files | head"},
		{"step": "writes a test that fails", "sleep_ms": pause(), "usage": usage(), "log": "FAIL: the test shows the defect"},
		{"step": "makes the change", "sleep_ms": pause(), "usage": usage(), "run": fmt.Sprintf("printf '* %%s\\n' %q >> NOTES.md", title)},
		{"step": "runs all tests", "sleep_ms": pause(), "usage": usage(), "run": "make -s test"},
	}
	switch d.draw.IntN(12) {
	case 0:
		steps = append(steps, step{"ask": "The old field is used by two other services. May I rename it?"})
	case 1:
		steps = append(steps, step{"fail": step{"kind": "checks_failed", "message": "2 of 214 tests fail: TestTransfer, TestRollback"}})
	case 2:
		steps = append(steps[:2], step{"crash": true})
	}
	raw, err := json.Marshal(step{"script": step{"steps": steps}})
	if err != nil {
		return nil // texts and numbers only
	}
	return raw
}
