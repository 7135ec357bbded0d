package e2e

import "testing"

// By keyboard alone the palette acts on the job whose page is open: at once where nothing
// needs a confirmation, in the same dialog where it does.
func TestThePaletteActsOnTheJobAtHand(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Rotate the signing key")
	v := s.visit(desktop)
	v.logIn()
	v.open("/jobs/FB-1")
	v.live()
	do := func(text, row string) {
		t.Helper()
		v.key("Control+k")
		v.sees("#palette[open]")
		v.fill("#palette-q", text)
		v.sees("#pal-list [role=option][aria-selected=true]:has-text('" + row + "')")
		v.key("Enter")
	}
	do("pause fb-1", "Pause FB-1")
	eventually(t, "FB-1 paused", func() bool { return s.job("FB-1").Status == "paused" })
	v.sees("text=Resume")
	do("cancel fb-1", "Cancel FB-1")
	v.sees("#dlg-cancel[open]")
	v.key("Escape")
	do("resume fb-1", "Resume FB-1")
	eventually(t, "FB-1 ready", func() bool { return s.job("FB-1").Status == "ready" })
}
