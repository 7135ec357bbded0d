package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// pages are all pages that a person can reach, each in a state worth looking at.
var pages = map[string]string{
	"login":       "/login",
	"board":       "/board",
	"board-phase": "/board?group=phase&priority=3",
	"board-empty": "/board?q=nothing-like-this",
	"new-job":     "/jobs/new",
	"job-copy":    "/jobs/new?from=FB-6",
	"job-edit":    "/jobs/FB-4/edit",
	"job-edited":  "/jobs/FB-2/edit",
	"job-secrets": "/jobs/FB-6/edit",
	"job-ready":   "/jobs/FB-1",
	"job-running": "/jobs/FB-2",
	"job-done":    "/jobs/FB-3",
	"job-waiting": "/jobs/FB-4",
	"job-secret":  "/jobs/FB-6",
	"agents":      "/agents",
	"not-found":   "/jobs/FB-999",
	"review":      "/review",
	"needs-you":   "/needs-you",
	"timeline":    "/timeline",
	"messages":    "/messages",
	"thread":      "/messages?thread=FB-1",
	"message-new": "/messages?new=1",
	"message-q":   "/messages?q=reaper&type=task_done",
	"for-you":     "/messages?tab=you",
	"dead":        "/messages?tab=dead",
	"search":      "/search?q=reaper",
	"search-logs": "/search?q=reaper&in=logs&job=FB-2",
	"timeline-of": "/timeline?job=FB-1&group=jobs",
	"log":         "/jobs/FB-2/log",
	"transcript":  "/jobs/FB-2/transcript",
	"attempts":    "/jobs/FB-2/attempts",
	"status":      "/status",
	"budgets":     "/budgets",
	"budget-new":  "/budgets/new",
	"transfer":    "/budgets/transfer",
	"usage":       "/usage",
	"usage-of":    "/usage?days=7&model=house-1",
	"prices":      "/prices?provider=house&model=house-1",
	"stop":        "/stop",
	"pools":       "/pools",
	"pool-new":    "/pools/form",
	"products":    "/settings/products",
	"product":     "/settings/products/default",
	"product-new": "/settings/products/new",
	"dispatch":    "/settings/dispatch",
	"divergence":  "/settings/dispatch/divergence",
	"account":     "/settings/account",
	"notify":      "/settings/notifications",
	"members":     "/settings/members",
	"tokens":      "/settings/tokens",
	"token-new":   "/settings/tokens/new",
	"webhooks":    "/settings/webhooks",
	"webhook-new": "/settings/webhooks/new",
	"connect":     "/settings/connect",
	"workspace":   "/settings/workspace",
	"secrets":     "/settings/secrets",
	"audit":       "/settings/audit",
	"no-invite":   "/invitations/none",
	"api":         "/docs/api",
	"api-jobs":    "/docs/api/jobs",
	"api-job":     "/docs/api/types/Job",
}

// No page has an accessibility fault of any severity, in either theme and at any width.
func TestNoPageHasAnAccessibilityFault(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(axeFile)
	if err != nil {
		t.Fatalf("run tools/ensure-test-deps.sh: %v", err)
	}
	s := startServer(t)
	furnish(t, s)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int{390, 768, 1440} {
			t.Run(fmt.Sprintf("%d-%s", width, theme), func(t *testing.T) {
				t.Parallel()
				v := s.in(t).visit(look{theme: theme, width: width, height: 900})
				v.open("/login")
				v.checkAxe(string(script), fmt.Sprintf("login-%d-%s", width, theme))
				v.logIn()
				for name, path := range pages {
					if path == "/login" {
						continue
					}
					v.open(path)
					v.checkAxe(string(script), fmt.Sprintf("%s-%d-%s", name, width, theme))
				}
			})
		}
	}
}

// furnish fills a workspace with jobs in every column.
func furnish(t *testing.T, s *server) {
	t.Helper()
	agent := s.agent("claude-1")
	s.submit("Port the prompt cache", "Fix flaky TestReaper under -race", "Heartbeats off the event loop")
	budget(t, s, "Everything", "250")
	claim(t, agent)
	spends(t, agent, "FB-1", "m-1", "1.14")
	complete(t, agent, "FB-1")
	claim(t, agent)
	spends(t, agent, "FB-2", "m-2", "0.78")
	tellSteps(t, agent, "FB-2", 1, api.NewStep{Kind: "message", Title: "I look.", Text: new("I look.\n" + strings.Repeat("long", 500))},
		api.NewStep{Kind: "reasoning", Title: "Hm."}, api.NewStep{Kind: "tool", Title: "go test", Tool: new("Bash")},
		api.NewStep{Kind: "edit", Title: "Edit", Path: new("internal/" + strings.Repeat("deep/", 40) + "reap.go"), Text: new("@@ -1 +1 @@\n-old\n+new\n same")},
		api.NewStep{Kind: "plan", Title: "Plan", Text: new("[x] a\n[ ] b")},
		api.NewStep{Kind: "usage", Title: "m", Tokens: new(int64(1200)), CostUSD: new("0.5")})
	progress(t, agent, "FB-2", 62, "Reaper tests, 200 runs")
	spends(t, agent, "FB-2", "m-3", "1.06")
	depend(t, s, "Burn-down with projection fan", "FB-2")
	stuck(t, s, "Show invoices in integer cents", "engine:codex")
	inputs(t, s, "Publish the client to the registry")
}

// inputs submits a job with inputs, one of which is a secret.
func inputs(t *testing.T, s *server, title string) {
	t.Helper()
	answer, err := s.owner().CreateJobWithResponse(t.Context(), nil, api.NewJob{Title: title, SecretKeys: &[]string{"registry_token"},
		InputContext: api.FreeForm(`{"command": "make publish", "registry_token": "a-token-of-the-registry", "regions": ["eu", "us"]}`)})
	if err != nil || answer.StatusCode() != http.StatusCreated {
		t.Fatalf("submit: %v %s", err, answer.Body)
	}
	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/FB-6")
	v.sees("text=registry_token")
	v.sees("text=[secret]")
}

// checkAxe runs axe on the page, with its advice on good practice, and reports all that it finds.
func (v *visitor) checkAxe(script, name string) {
	v.t.Helper()
	if dir := os.Getenv("FLEETBOARD_E2E_PICTURES"); dir != "" {
		v.picture(filepath.Join(dir, name+".png"))
	}
	_, err := v.tab.Evaluate(script)
	v.must("load axe", err)
	raw, err := v.tab.Evaluate(`async () => JSON.stringify((await axe.run(document)).violations.map((x) => ({
		id: x.id, impact: x.impact, help: x.help, nodes: x.nodes.map((n) => n.html.slice(0, 200)) })))`)
	v.must("run axe", err)
	var found []struct {
		ID, Impact, Help string
		Nodes            []string
	}
	text, _ := raw.(string)
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		v.t.Fatal(err)
	}
	for _, f := range found {
		v.t.Errorf("%s: %s, %s (%s): %s", name, f.Impact, f.ID, f.Help, strings.Join(f.Nodes, "\n\t"))
	}
}
