package e2e

import "testing"

// A refused form has the focus on what it says on top, which leads to each refused field,
// and keeps the passwords that were typed.
func TestARefusedFormLeadsToItsFields(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/new")
	v.fill("#priority", "12")
	v.key("Control+Enter")
	v.focused("[data-form-error]")
	v.key("Tab")
	v.key("Enter")
	v.focused("#title")
	v.click("[data-form-error] a:has-text('Priority')")
	v.focused("#priority")

	v.open("/settings/tokens/new?kind=enrolment")
	v.fill("#capabilities", "NOT ONE")
	v.click("button:has-text('Make the token')")
	v.focused("[data-form-error]")
	v.click("[data-form-error] a:has-text('Name')")
	v.focused("#name")
	v.click("[data-form-error] a:has-text('Capabilities')")
	v.focused("#capabilities")

	v.open("/settings/account")
	v.fill("#current", "not the password")
	v.fill("#password", "a sentence to remember")
	v.click("button:has-text('Change the password')")
	v.focused("#password-part [data-form-error]")
	v.click("[data-form-error] a:has-text('Current password')")
	v.focused("#current")
	v.has("#password", "a sentence to remember")

	plain := s.visit(look{theme: "dark", width: 390, height: 844, noScript: true})
	plain.logIn()
	plain.open("/settings/products/new")
	plain.fill("#review_limit", "many")
	plain.click("button[type=submit]:has-text('Create')")
	plain.focused("[data-form-error]")
	plain.click("[data-form-error] a:has-text('Review limit')")
	plain.focused("#review_limit")
}
