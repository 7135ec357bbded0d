package e2e

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"

	"github.com/fleetboard/fleetboard/api"
)

// troubled registers a factory whose engine, one repository and some work are in trouble, and
// one that has ended. The client speaks as the agent of the first.
func troubled(t *testing.T, s *server) (*api.ClientWithResponses, api.FactoryInfo) {
	t.Helper()
	now := time.Now()
	info := api.FactoryInfo{Name: "factory-of-claude-2", Seats: number(2), Unavailable: &[]api.Unavailable{
		{Kind: api.UnavailableEngine, Name: "claude", Reason: "Invalid API key · Please run /login", Since: now.Add(-12 * time.Minute)},
		{Kind: api.UnavailableRepo, Name: "ledger-api", Since: now.Add(-3 * time.Hour),
			Reason: "fatal: detected dubious ownership in repository at '/home/build/src/customers/northwind/ledger-api' and more of git's words"},
	}, Rescued: &[]api.Rescued{{Name: "FB-7-1c2d3e4f-e2-20261125T221504.120", Why: "The agent's own commits cannot be read; its files are handed in, and its directory is kept",
		Path: "/home/build/.local/state/fleet/worker/build-1/rescue/FB-7-1c2d3e4f-e2-20261125T221504.120", Since: now.Add(-40 * time.Minute)}}}
	agent := s.agent("claude-2", func(r *api.Registration) { r.Factory = info })
	ended, err := s.agent("claude-3").EndAgentWithResponse(t.Context(), "claude-3")
	if err != nil || ended.StatusCode() != http.StatusNoContent {
		t.Fatalf("end: %v %s", err, ended.Body)
	}
	return agent, info
}

// What is wrong at a factory stands on its panel at each width, in both themes, and goes without
// a reload as soon as the host says so.
func TestTroublesOnTheAgentsPage(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(axeFile)
	if err != nil {
		t.Fatalf("run tools/ensure-test-deps.sh: %v", err)
	}
	s := startServer(t)
	agent, info := troubled(t, s)
	const list = "#factory-factory-of-claude-2-trouble"
	var v *visitor
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int{375, 1440} {
			v = s.visit(look{theme: theme, width: width, height: 900})
			v.logIn()
			v.open("/agents")
			v.sees(list + " li:has-text('claude has not been offered for 12m: Invalid API key')")
			v.sees(list + " li:has-text('fleet worker rescue remove FB-7')")
			v.sees("#factory-factory-of-claude-3 .pill:has-text('Ended')")
			wide, err := v.tab.Evaluate(`() => document.documentElement.scrollWidth - document.documentElement.clientWidth`)
			v.must("measure", err)
			if fmt.Sprint(wide) != "0" {
				t.Errorf("at %d the page is %v too wide", width, wide)
			}
			cut, err := v.tab.Evaluate(`(list) => [...document.querySelectorAll(list + " li")].filter((x) => x.scrollWidth > x.clientWidth).length`, list)
			v.must("measure", err)
			if fmt.Sprint(cut) != "0" {
				t.Errorf("at %d %v lines are cut", width, cut)
			}
			v.checkAxe(string(script), fmt.Sprintf("troubles-%d-%s", width, theme))
		}
	}
	v.live()
	info.Unavailable, info.Rescued = nil, nil
	beat, err := agent.HeartbeatWithResponse(t.Context(), "claude-2", api.Heartbeat{BootID: "boot-of-claude-2", Status: api.HeartbeatStatusIdle, Factory: &info})
	if err != nil || beat.StatusCode() != http.StatusOK {
		t.Fatalf("heartbeat: %v %s", err, beat.Body)
	}
	v.must("the troubles go", v.tab.Locator(list).WaitFor(playwright.LocatorWaitForOptions{State: playwright.WaitForSelectorStateDetached}))
}
