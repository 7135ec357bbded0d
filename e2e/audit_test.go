package e2e

import "testing"

const auditLines = "#audit [data-event]"

// Who changes something in settings finds it in the audit, says whose it is and
// of which kind, and comes back to all of it.
func TestTheAuditSaysWhoDidIt(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	v := s.visit(desktop)
	v.logIn()
	v.open("/settings/products/new")
	v.fill("#name", "ledger")
	v.fill("#repos", "ledger-api")
	v.click("text=Create product")
	v.sees("#toasts:has-text('ledger created')")
	v.click(".settings-nav >> text=Audit")
	v.sees(auditLines + ":has-text('product saved'):has-text('ledger repos none to ledger-api')")
	v.click("nav[aria-label='Kinds of changes'] >> text=Products")
	v.must("reach the products' changes", v.tab.WaitForURL("**/settings/audit?group=products"))
	if n, err := v.tab.Locator(auditLines).Count(); err != nil || n != 1 {
		t.Errorf("%d lines, %v", n, err)
	}
	v.click(auditLines + " .ev-a a")
	v.must("reach the person's changes", v.tab.WaitForURL("**/settings/audit?actor=*&group=products"))
	v.click("nav[aria-label='Kinds of changes'] >> text=Members")
	v.sees(".empty:has-text('No change matches')")
	v.click(".empty >> text=Show all changes")
	v.must("reach all changes", v.tab.WaitForURL("**/settings/audit"))
}

// Nothing of a line is cut off or out of sight, at any width.
func TestTheAuditShowsWholeLines(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	first := s.visit(desktop)
	first.logIn()
	first.open("/settings/products/new")
	first.fill("#name", "a-product-with-a-long-name")
	first.fill("#repos", "a-repo-of-the-product-with-a-long-name")
	first.click("text=Create product")
	first.sees("#toasts:has-text('created')")
	for _, width := range []int{390, 768, 1440} {
		v := s.visit(look{theme: "light", width: width, height: 900})
		v.logIn()
		v.open("/settings/audit")
		v.sees(auditLines + ":has-text('a-product-with-a-long-name')")
		cut, err := v.tab.Evaluate(`() => [...document.querySelectorAll("#audit [data-event], #audit [data-event] *:not(svg, svg *, .sr-only)")].filter((el) => {
			const box = el.getBoundingClientRect(), style = getComputedStyle(el);
			return box.right > document.documentElement.clientWidth || box.left < 0 ||
				style.overflowX !== "visible" && el.scrollWidth > el.clientWidth + 1;
		}).map((el) => el.className + ": " + el.textContent.slice(0, 60)).join("; ")`)
		if err != nil || cut != "" {
			t.Errorf("at %d px not whole: %v, %v", width, cut, err)
		}
	}
}

// The same on a phone, without scripts.
func TestTheAuditWithoutScripts(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	v := s.visit(look{theme: "dark", width: 390, height: 844, noScript: true})
	v.logIn()
	v.open("/settings/audit")
	v.fill("#audit-actor", "Nobody")
	v.tab.Locator("#audit-actor").Press("Enter")
	v.sees(".empty:has-text('No change matches')")
	v.open("/settings/products/new")
	v.fill("#name", "ledger")
	v.click("text=Create product")
	v.open("/settings/audit?group=products")
	v.sees(auditLines + ":has-text('product saved')")
	wide, err := v.tab.Evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
	if err != nil || wide != false {
		t.Errorf("the page is wider than the screen: %v, %v", wide, err)
	}
}
