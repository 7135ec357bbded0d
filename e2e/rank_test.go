package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/playwright-community/playwright-go"

	"github.com/fleetboard/fleetboard/api"
)

// column returns the keys of the cards of a column, from top to bottom.
func (v *visitor) column(name string) (keys []string) {
	v.t.Helper()
	list, err := v.tab.Locator("#list-" + name + " > [data-card]").All()
	if err != nil {
		v.t.Fatal(err)
	}
	for _, one := range list {
		key, err := one.GetAttribute("data-card")
		if err != nil {
			return nil // it went meanwhile
		}
		keys = append(keys, key)
	}
	return keys
}

// ordered waits until a column shows these cards in this order and nothing is under way.
func (v *visitor) ordered(what string, want ...string) {
	v.t.Helper()
	eventually(v.t, fmt.Sprint(what, " shows ", want), func() bool {
		busy, err := v.tab.Locator("[data-pending], .drag-card").Count()
		return err == nil && busy == 0 && slices.Equal(v.column("ready"), want)
	})
}

// carry moves the mouse with a card onto the upper or the lower half of another one and back a little,
// as a hand does.
func (v *visitor) carry(key, onto string, half float64) {
	v.t.Helper()
	a, b := v.box(card(key, "ready")), v.box(card(onto, "ready"))
	mouse, steps := v.tab.Mouse(), playwright.MouseMoveOptions{Steps: playwright.Int(20)}
	v.must("press", mouse.Move(a.X+a.Width/2, a.Y+12))
	v.must("press", mouse.Down())
	v.must("carry", mouse.Move(b.X+b.Width/2, b.Y+b.Height*half, steps))
	v.must("carry", mouse.Move(b.X+b.Width/2, b.Y+b.Height*half+2, steps))
}

// A ready card is put before or after others by mouse, menu and keys. Another person sees it live, and
// claims follow.
func TestAReadyCardIsPutWhereAPersonWantsIt(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("First", "Second", "Third", "Fourth")
	v, other := s.visit(desktop), s.visit(desktop)
	for _, one := range []*visitor{v, other} {
		one.logIn()
		one.live()
		one.sees("#sub-ready:has-text('next first')")
	}
	v.ordered("the board", "FB-1", "FB-2", "FB-3", "FB-4")

	v.carry("FB-4", "FB-1", 0.2)
	v.must("let go", v.tab.Mouse().Up())
	v.ordered("the board after a drag up", "FB-4", "FB-1", "FB-2", "FB-3")
	other.ordered("another's board", "FB-4", "FB-1", "FB-2", "FB-3")
	v.carry("FB-1", "FB-3", 0.8)
	v.must("let go", v.tab.Mouse().Up())
	v.ordered("the board after a drag down", "FB-4", "FB-2", "FB-3", "FB-1")
	v.sees("#toasts:has-text('FB-1 has another place')")
	v.click("#toasts [data-undo]")
	v.ordered("the board after an undo", "FB-4", "FB-1", "FB-2", "FB-3")

	// What another person does meanwhile waits until the card is let go.
	v.carry("FB-3", "FB-1", 0.2)
	other.click(card("FB-2", "ready") + " .job-menu")
	other.click("#card-fb-2 [name=to][value=top]")
	other.ordered("another's board", "FB-2", "FB-4", "FB-1", "FB-3")
	v.must("let go", v.tab.Mouse().Up())
	v.ordered("the board after both", "FB-2", "FB-4", "FB-3", "FB-1")

	v.must("focus", v.tab.Locator(card("FB-1", "ready")+" .job-link").Focus())
	v.must("press K", v.tab.Keyboard().Press("Shift+K"))
	v.ordered("the board after a key", "FB-2", "FB-4", "FB-1", "FB-3")
	v.sees("#card-fb-1 .job-link:focus")
	v.must("press J", v.tab.Keyboard().Press("Shift+J"))
	v.ordered("the board after another key", "FB-2", "FB-4", "FB-3", "FB-1")

	v.click(card("FB-2", "ready") + " .job-menu")
	v.click("#card-fb-2 [name=to][value=up]")
	v.sees("#toasts:has-text('FB-2 stays where it was')")
	v.click(card("FB-2", "ready") + " .job-menu")
	v.click("#card-fb-2 [name=to][value=down]")
	v.ordered("the board after a menu", "FB-4", "FB-2", "FB-3", "FB-1")

	// The drag to another column goes on working.
	v.drag(card("FB-4", "ready"), "#col-waiting")
	v.settled("FB-4", "waiting")
	v.drag(card("FB-4", "waiting"), "#col-ready")
	v.ordered("the board with the card back at its rank", "FB-4", "FB-2", "FB-3", "FB-1")

	agent := s.agent("claude-1")
	for _, want := range []string{"FB-4", "FB-2"} {
		if got := claim(t, agent); got != want {
			t.Errorf("a claim gave %s; want %s", got, want)
		}
	}
}

// A card is not put among jobs of another priority, and the order can be changed without scripts.
func TestACardStaysAmongThoseOfItsPriority(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("First", "Second")
	urgent := api.CreateJobsJSONRequestBody{Jobs: []api.NewJob{{Title: "Urgent", Priority: number(9)}}}
	if answer, err := s.owner().CreateJobsWithResponse(t.Context(), nil, urgent); err != nil || answer.StatusCode() != http.StatusCreated {
		t.Fatalf("submit: %v %s", err, body(answer))
	}
	v := s.visit(desktop)
	v.logIn()
	v.live()
	v.ordered("the board", "FB-3", "FB-1", "FB-2")
	v.carry("FB-2", "FB-3", 0.2)
	v.must("let go", v.tab.Mouse().Up())
	v.ordered("the board after a drag beyond them", "FB-3", "FB-2", "FB-1")

	plain := s.visit(look{theme: "dark", width: 1440, height: 900, noScript: true})
	plain.logIn()
	plain.click(card("FB-1", "ready") + " .job-menu")
	plain.click("#card-fb-1 [name=to][value=top]")
	plain.sees(".toasts:has-text('FB-1 has another place')")
	if got := plain.column("ready"); !slices.Equal(got, []string{"FB-3", "FB-1", "FB-2"}) {
		t.Errorf("the order is %v", got)
	}
	v.ordered("the board", "FB-3", "FB-1", "FB-2")
}
