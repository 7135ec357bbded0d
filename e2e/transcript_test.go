package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// tellSteps adds steps to the transcript of a job's first attempt, numbered from one on.
func tellSteps(t *testing.T, agent *api.ClientWithResponses, key string, from int, steps ...api.NewStep) {
	t.Helper()
	for i := range steps {
		steps[i].N = int64(from + i)
	}
	answer, err := agent.WriteStepsWithResponse(t.Context(), api.StepBatch{Job: key, Epoch: 1, Steps: steps})
	if err != nil || answer.StatusCode() != http.StatusOK {
		t.Fatalf("write steps: %v %s", err, answer.Body)
	}
}

// does is a selector of a step by its text.
func does(text string) string { return fmt.Sprintf("#transcript-list li:has-text(%q)", text) }

// A person watches what an agent does: steps come without a reload, the kinds are filtered, a search finds, a link
// leads to a step, and text stays text.
func TestAPersonWatchesWhatAnAgentDoes(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Watched")
	agent := s.agent("claude-1")
	claim(t, agent)
	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/FB-1")
	eventually(t, "the stream of the transcript", func() bool {
		open, err := v.tab.Evaluate("() => Boolean(document.getElementById('transcript-live')?._htmx?.sse)")
		return err == nil && open == true
	})
	v.must("mark the page", mark(v))
	message := func(title string) api.NewStep { return api.NewStep{Kind: "message", Title: title} }
	tellSteps(t, agent, "FB-1", 1, message("I look at the reaper."), api.NewStep{Kind: "edit", Title: "Edit", Path: new("reap.go"), Text: new("@@ -1 +1 @@\n-old\n+new")},
		message(`<img src=x onerror="document.title='owned'"></li></ol>`),
		api.NewStep{Kind: "usage", Title: "model", Tokens: new(int64(1200)), CostUSD: new("0.5")})
	v.sees(does("I look at the reaper."))
	v.sees("#step-2 tr.d-a:has-text('+new')")
	v.sees("#transcript-sum:has-text('1,200 tokens')")
	if n, err := v.tab.Locator("#transcript img, #transcript script").Count(); err != nil || n != 0 {
		t.Errorf("%d elements came out of a step, %v", n, err)
	}
	var many []api.NewStep
	for i := range 60 {
		many = append(many, message(fmt.Sprintf("step number %d.", i)))
	}
	tellSteps(t, agent, "FB-1", 5, many...)
	v.sees(does("step number 59."))
	eventually(t, "the transcript at its end", func() bool {
		far, err := v.tab.Evaluate(`() => { const b = document.getElementById("transcript-body"); return b.scrollHeight - b.clientHeight - b.scrollTop < 2 }`)
		return err == nil && far == true
	})
	if !marked(v) {
		t.Error("the page was loaded again")
	}
	v.click("#transcript nav a:has-text('Edits')")
	eventually(t, "edits only", func() bool {
		n, err := v.tab.Locator("#transcript-list li").Count()
		return err == nil && n == 1
	})
	tellSteps(t, agent, "FB-1", 65, message("unseen"), api.NewStep{Kind: "edit", Title: "a second edit", Path: new("other.go")})
	v.sees(does("a second edit"))
	v.must("search", v.tab.Locator("#transcript-q").Fill("REAPER"))
	v.press("#transcript-q", "Enter")
	v.sees("#transcript .chip:has-text('found')")
	v.open("/jobs/FB-1/transcript?path=reap.go")
	v.sees("#step-2:target")
}
