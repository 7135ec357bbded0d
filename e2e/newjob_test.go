package e2e

import (
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"

	"github.com/fleetboard/fleetboard/api"
)

// Whether a factory can run the job is in sight at every width, follows the form, and leads to
// the reasons.
func TestRoutabilityIsAlwaysInSight(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.agent("claude-1", func(r *api.Registration) { r.Factory.Repos = &[]api.Repo{{Name: "ledger-api"}} })
	for _, width := range []int{360, 390, 768, 1024, 1440} {
		v := s.visit(look{theme: "light", width: width, height: 800})
		v.logIn()
		for _, path := range []string{"/jobs/new", "/jobs/new?repo=ledger-api"} {
			v.open(path)
			v.sees("#route-line:has-text('1 of 1 factory can run this')")
			if seen := v.text(`(() => {
				const at = document.querySelector("#route-line span").getBoundingClientRect();
				return document.elementFromPoint(at.left + 8, at.top + 8)?.closest("#route-line") !== null && at.bottom < innerHeight && at.width > 120;
			})()`); seen != "true" {
				t.Errorf("at %d the line is not in sight on %s", width, path)
			}
		}
		v.click("#route-line a")
		eventually(t, "the reasons in view", func() bool {
			return v.text(`(() => {
				const at = document.getElementById("route-h").getBoundingClientRect();
				return document.elementFromPoint(at.left + 8, at.top + 8)?.id;
			})()`) == "route-h"
		})
	}
}

// Jobs to depend on are chosen by keyboard alone. Enter chooses, also while the
// search is under way, and never sends the form.
func TestDependenciesAreChosenByKeyboard(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Lay the foundation", "Raise the roof")
	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/new")
	v.must("focus the field", v.tab.Locator("#dep").Focus())
	v.must("type", v.tab.Keyboard().Type("roof"))
	v.key("Enter")
	v.sees("#dep-chosen [data-dep][value='FB-2']")
	v.must("type", v.tab.Keyboard().Type("foundation"))
	v.sees("#dep-options [role=option][data-key='FB-1']")
	v.key("ArrowDown")
	v.sees("#dep[aria-expanded=true][aria-activedescendant='dep-FB-1']")
	v.key("Enter")
	v.sees("#dep-chosen [data-dep][value='FB-1']")
	v.sees("#dep[aria-expanded=false]")
	v.key("Enter")
	v.key("Backspace")
	v.must("count chips", v.tab.Locator("#dep-chosen [data-dep][value='FB-1']").WaitFor(playwright.LocatorWaitForOptions{State: playwright.WaitForSelectorStateDetached}))
	if !strings.HasSuffix(v.tab.URL(), "/jobs/new") {
		t.Errorf("the form was sent: %s", v.tab.URL())
	}
	v.fill("#title", "Move in")
	v.key("Control+Enter")
	v.must("reach the job", v.tab.WaitForURL(keyInURL))
	if waits := s.job("FB-3").DependsOn; len(waits) != 1 || waits[0] != "FB-2" {
		t.Errorf("FB-3 depends on %v; want FB-2", waits)
	}
}
