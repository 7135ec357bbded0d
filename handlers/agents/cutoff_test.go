package agents_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/handlers/agents"
	"github.com/fleetboard/fleetboard/internal/dispatch/claim"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

func TestCutOffOnTheAgentsPage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	j := d.Job("Alpha")
	agent := d.Agent("claude-1")
	d.Claim(agent)
	doc := handlertest.Page(t, d.Get("/agents"), http.StatusOK)
	handlertest.WantText(t, doc, "[role=dialog]", "Cut off claude-1?")
	handlertest.WantText(t, doc, "[role=dialog]", "FB-1 goes back to Ready.")
	handlertest.Read(t, d.As(tenancy.RoleMember).Post("/agents/claude-1/cut-off", nil), http.StatusForbidden)
	handlertest.Read(t, d.Hx("/agents", "/agents/nobody/cut-off", nil), http.StatusNotFound)
	handlertest.Read(t, d.Hx("/agents", "/agents/claude-1/cut-off", url.Values{"reason": {strings.Repeat("x", agents.MaxWhy+1)}}), http.StatusUnprocessableEntity)
	doc = handlertest.Page(t, d.Hx("/agents", "/agents/claude-1/cut-off", url.Values{"reason": {"Odd"}}), http.StatusOK)
	handlertest.WantText(t, doc, "#agents-panel", "Cut off")
	handlertest.WantCount(t, doc, "#agents-panel form[action='/agents/claude-1/cut-off']", 0)
	if now := d.Now(j); now.Status != jobs.Ready {
		t.Errorf("the job is %s", now.Status)
	}
	if _, err := d.OtherProcess.Claim(t.Context(), agent, claim.Request{}); !fault.Is(err, fault.TokenRevoked) {
		t.Errorf("it claims: %v", err)
	}
}
