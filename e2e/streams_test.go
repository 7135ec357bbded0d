package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/playwright-community/playwright-go"

	"github.com/fleetboard/fleetboard/api"
)

// noWorker makes a browser one that has no shared workers, such as Chrome on a phone.
func (v *visitor) noWorker() {
	v.t.Helper()
	script := "delete self.SharedWorker"
	v.must("take the shared workers away", v.tab.AddInitScript(playwright.Script{Content: &script}))
}

// Twelve tabs of one browser are live over HTTP/1.1, which opens six connections to a server:
// each shows the log of a running job and the job itself, also after others were closed.
func TestTwelveTabsAreLive(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Raise the roof")
	agent := s.agent("roofer")
	claim(t, agent)
	v := s.visit(desktop)
	v.logIn()
	tabs := []*visitor{v}
	for len(tabs) < 12 {
		tab, err := v.tab.Context().NewPage()
		v.must("open a tab", err)
		tabs = append(tabs, &visitor{t: t, s: s, tab: tab})
	}
	for _, tab := range tabs {
		_, err := tab.tab.Goto("/jobs/FB-1", playwright.PageGotoOptions{WaitUntil: playwright.WaitUntilStateDomcontentloaded})
		tab.must("open the job", err)
	}
	change := func(round int) {
		write(t, agent, "FB-1", api.INFO, fmt.Sprintf("round %d.", round))
		version := s.job("FB-1").Version
		answer, err := s.owner().PatchJobWithResponse(t.Context(), "FB-1", api.JobPatch{Version: version, Title: number(fmt.Sprintf("Raise the roof, round %d", round))})
		if err != nil || answer.StatusCode() != http.StatusOK {
			t.Fatalf("%v %s", err, answer.Body)
		}
	}
	for round := range 3 {
		change(round)
		for n, tab := range tabs {
			t.Log("tab", n)
			tab.sees(says(fmt.Sprintf("round %d.", round)))
			tab.sees(fmt.Sprintf("h1:has-text('round %d')", round))
			tab.live()
		}
		v.must("close a tab", tabs[len(tabs)-1].tab.Close())
		tabs = tabs[:len(tabs)-1]
	}
}

// A browser without shared workers is live as well.
func TestWithoutASharedWorkerAPageIsLive(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Raise the roof")
	agent := s.agent("roofer")
	claim(t, agent)
	v := s.visit(desktop)
	v.noWorker()
	v.logIn()
	v.open("/jobs/FB-1")
	write(t, agent, "FB-1", api.INFO, "said.")
	v.sees(says("said."))
	v.live()
}
