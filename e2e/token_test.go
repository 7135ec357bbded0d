package e2e

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/db/dbtest"
)

// lines returns what the page's button would put into the clipboard.
func (v *visitor) lines(block string) string {
	v.t.Helper()
	text, err := v.tab.Locator(block + " [data-copy]").GetAttribute("data-copy")
	v.must("read the lines of "+block, err)
	return text
}

// A person makes a token on the page that connects an agent, and pastes its lines
// into a shell: the agent stands on another browser's page of agents at once, and
// claims the job.
func TestConnectAnAgentByThePagesLines(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Say hello")
	watching := s.visit(desktop)
	watching.logIn()
	watching.open("/agents")
	watching.live()

	v := s.visit(desktop)
	v.logIn()
	v.open("/agents")
	v.click("header >> text=Connect an agent")
	v.fill("#name", "rack 3")
	v.click("#connect-form button[type=submit]")
	v.sees("#new-token:has-text('Copy the lines with the token “rack 3” now')")

	script := "set -eu\n" + v.lines("#connect-environment") + v.lines("#connect-register") + v.lines("#connect-claim")
	shell := exec.CommandContext(t.Context(), "bash")
	shell.Stdin = strings.NewReader(script)
	out, err := shell.CombinedOutput()
	if err != nil || !strings.Contains(string(out), " 200 OK") || !strings.Contains(string(out), `"key":"FB-1"`) {
		t.Errorf("the lines said %v:\n%s", err, out)
	}
	watching.sees("#agents-panel:has-text('agent-1')")
	watching.sees("#agents-panel:has-text('FB-1')")

	// Cut off, it disappears from work while the other browser looks on.
	v.open("/agents")
	v.click("button[aria-label='Actions for agent-1']")
	v.click("text=Cut off now")
	v.sees("[role=dialog]:has-text('Cut off agent-1?')")
	v.click("[role=dialog] button:has-text('Cut off')")
	v.sees("#toasts:has-text('agent-1 was cut off')")
	watching.sees("#agents-panel tr:has-text('Cut off')")

	// The token is listed, and revoked.
	v.open("/settings/tokens")
	v.sees("[data-token='rack 3']:has-text('ago')")
	v.click("[data-token='rack 3'] button")
	v.click("dialog[open] [name=cut_off]")
	v.sees("dialog[open] [name=cut_off]:checked")
	v.click("dialog[open] button[type=submit]:has-text('Revoke token')")
	v.sees("#toasts:has-text('0 agents were cut off')")
	v.sees("[data-token='rack 3']:has-text('Revoked')")
}

// Two processes on one database: what is revoked at one of them is refused by the
// other within five seconds.
func TestARevocationReachesTheOtherProcess(t *testing.T) {
	t.Parallel()
	url, dir := dbtest.URL(t), t.TempDir()
	one, two := startOn(t, url, dir), startOn(t, url, dir)
	registered, err := one.client(one.token("enrolment-token")).RegisterAgentWithResponse(t.Context(), "ada",
		api.Registration{BootID: "b1", Factory: api.FactoryInfo{Name: "desk"}})
	if err != nil || registered.JSON200 == nil {
		t.Fatalf("register: %v %s", err, body(registered))
	}
	there := two.client(registered.JSON200.Token)
	status := func() int {
		answer, err := there.ListAgentsWithResponse(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode()
	}
	if got := status(); got != http.StatusOK {
		t.Fatalf("the other process answers %d", got)
	}
	v := one.visit(desktop)
	v.logIn()
	v.open("/settings/tokens")
	v.click("#enrolment-tokens tbody tr button")
	v.click("dialog[open] button[type=submit]:has-text('Revoke token')")
	v.sees("#toasts:has-text('The token was revoked')")

	late := time.NewTimer(time.Minute)
	defer late.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for status() != http.StatusUnauthorized {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatal("the agent is still answered")
		}
	}
}
