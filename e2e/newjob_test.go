package e2e

import (
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
)

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
