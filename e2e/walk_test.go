package e2e

import (
	"fmt"
	"testing"
)

// J and K keep their card whole in view, below the head of its column, and the menu
// that comes with it stands beside the priority.
func TestWalkingKeepsTheCardInView(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	titles := make([]string, 30)
	for i := range titles {
		titles[i] = fmt.Sprintf("Job %d", i+1)
	}
	s.submit(titles...)
	v := s.visit(desktop)
	v.logIn()
	v.live()
	whole := func(after string) {
		t.Helper()
		link := v.text(`document.activeElement.closest("[data-card]")?.id ?? "nothing"`)
		seen := v.text(`(() => {
			const card = document.activeElement.closest("[data-card]").getBoundingClientRect();
			const list = document.getElementById("list-ready").getBoundingClientRect();
			return String(card.top >= list.top && card.bottom <= list.bottom);
		})()`)
		if seen != "true" {
			t.Errorf("after %s %s is not whole in view", after, link)
		}
	}
	for i := range 25 {
		v.key("j")
		whole(fmt.Sprint("j ", i+1))
	}
	for i := range 24 {
		v.key("k")
		whole(fmt.Sprint("k ", i+1))
	}
	apart := v.text(`(() => {
		const card = document.activeElement.closest("[data-card]");
		const menu = card.querySelector(".job-menu"), at = menu.getBoundingClientRect();
		const priority = card.querySelector(".pri").getBoundingClientRect();
		return getComputedStyle(menu).opacity + " " + (priority.right <= at.left);
	})()`)
	if apart != "1 true" {
		t.Errorf("the menu's opacity and whether it stands beside the priority: %s", apart)
	}
}
