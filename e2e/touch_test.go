package e2e

import "testing"

var phone = look{theme: "light", width: 390, height: 844, touch: true}

// On a phone a finger that sweeps over a card scrolls the board; one that holds the card
// takes it along, and at the edge the board scrolls to the next column.
func TestACardIsDraggedByTouch(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Held by a finger")
	v := s.visit(phone)
	v.logIn()
	v.sees(card("FB-1", "ready"))
	v.click("a[href='#col-ready']")
	scrolled := func() string { return v.text(`document.getElementById("board").scrollLeft`) }
	eventually(t, "Ready in view", func() bool {
		return v.text(`document.getElementById("col-ready").getBoundingClientRect().left < 30`) == "true"
	})
	before := scrolled()
	box := v.box(card("FB-1", "ready"))
	finger := v.finger()
	x, y := box.X+box.Width/2, box.Y+14

	finger("touchStart", x, y)
	v.must("note when", v.evaluate("() => { window.held = performance.now(); }"))
	eventually(t, "a card that is held", func() bool { return v.text("performance.now() - held > 250") == "true" })
	for step := range 12 {
		finger("touchMove", x-float64(step), y+2*float64(step))
	}
	v.sees(".drag-slot")
	finger("touchMove", 15, y+30)
	finger("touchMove", 12, y+34)
	eventually(t, "the board scrolled to Waiting", func() bool {
		finger("touchMove", 12, y+34)
		return v.text(`document.getElementById("col-waiting").getBoundingClientRect().left > -20`) == "true"
	})
	if scrolled() == before {
		t.Error("the board did not scroll")
	}
	finger("touchMove", 160, y+60)
	finger("touchMove", 170, y+64)
	v.sees("#col-waiting .drag-slot")
	finger("touchEnd", 0, 0)
	v.settled("FB-1", "waiting")
}

// finger sends what a finger does to the browser, as it comes from the screen.
func (v *visitor) finger() func(kind string, x, y float64) {
	v.t.Helper()
	wire, err := v.tab.Context().NewCDPSession(v.tab)
	v.must("reach the browser", err)
	return func(kind string, x, y float64) {
		v.t.Helper()
		points := []map[string]any{}
		if kind != "touchEnd" {
			points = append(points, map[string]any{"x": x, "y": y})
		}
		_, err := wire.Send("Input.dispatchTouchEvent", map[string]any{"type": kind, "touchPoints": points})
		v.must(kind, err)
	}
}
