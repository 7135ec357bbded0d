package e2e

import (
	"testing"

	"github.com/fleetboard/fleetboard/api"

	"github.com/playwright-community/playwright-go"
)

// current waits until the tabs of a job's page show one section as the one that is read.
func (v *visitor) current(hash string) {
	v.t.Helper()
	tab := v.tab.Locator(".tabs-line a[aria-current]")
	expect := playwright.NewPlaywrightAssertions(timeout)
	v.must("one tab", expect.Locator(tab).ToHaveCount(1))
	if err := expect.Locator(tab).ToHaveAttribute("href", hash); err != nil {
		v.t.Fatalf("the tab of %s: %v", hash, err)
	}
}

// The tabs of a job's page show where one is: after a click, after Back, after a change
// that came live, and where one has scrolled to.
func TestTabsShowWhereOneIs(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Raise the roof")
	for _, how := range []look{{theme: "light", width: 1440, height: 500}, {theme: "dark", width: 390, height: 700}} {
		v := s.visit(how)
		v.logIn()
		v.open("/jobs/FB-1")
		v.must("be live", v.tab.Locator(liveShown).WaitFor(playwright.LocatorWaitForOptions{State: playwright.WaitForSelectorStateAttached}))
		v.current("#overview")
		v.click(".tabs-line a[href='#events']")
		v.current("#events")
		version := s.job("FB-1").Version
		if _, err := s.owner().PatchJobWithResponse(t.Context(), "FB-1", api.JobPatch{Version: version, Title: number("Raise the roof for " + how.theme)}); err != nil {
			t.Fatal(err)
		}
		v.sees("h1:has-text('for " + how.theme + "')")
		v.current("#events")
		v.click(".tabs-line a[href='#joblog']")
		v.current("#joblog")
		_, err := v.tab.GoBack()
		v.must("go back", err)
		v.current("#events")
		v.open("/board")
		_, err = v.tab.GoBack()
		v.must("go back to the page", err)
		v.current("#events")
		v.must("point at the page", v.tab.Locator("#attempts").Hover())
		v.must("scroll up", v.tab.Mouse().Wheel(0, -5000))
		v.current("#overview")
		v.must("scroll down", v.tab.Mouse().Wheel(0, 5000))
		v.current("#events")
	}
}
