package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// By the keyboard alone a comment is made on a line, replied to and resolved, while news come in; by the mouse a click on
// a line's number names the line. Work that is sent back takes the open ones along, and comes back with answers.
func TestCommentsByKeyboard(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.agent("claude-4")
	submitForReview(t, s, api.NewJob{Title: "Drain a factory without losing leases"})
	handIn(t, agent, "9be04d1f00")
	v := s.visit(desktop)
	v.logIn()
	v.open("/review?job=FB-1")
	v.live()
	v.key("m")
	v.sees("#dlg-comment[open]")
	text := func(words string) { v.must("type", v.tab.Keyboard().Type(words)) }
	text("Why not release them? m r a")
	// News come while it is written, and take nothing away.
	submitForReview(t, s, api.NewJob{Title: "Pin the runner image"})
	handIn(t, agent, "aa11bb22")
	v.sees("#rq-fb-2")
	v.sees("#dlg-comment[open]")
	v.key("Shift+Tab") // the side
	v.key("Shift+Tab") // the line
	text("46")
	v.key("Control+Enter")
	v.sees(`#changes .d-a + .d-t:has-text("Why not release them? m r a")`)
	v.sees(`#review-comments:has-text("1 open")`)

	v.click(`td.d-n[data-side=old][data-line="45"]`)
	v.sees("#dlg-comment[open]")
	text("Keep this one.")
	v.key("Control+Enter")
	v.sees(`#changes .d-d + .d-t:has-text("Keep this one.")`)
	v.sees(`#review-comments:has-text("2 open")`)
	script, err := os.ReadFile(axeFile)
	if err != nil {
		t.Fatalf("run tools/ensure-test-deps.sh: %v", err)
	}
	for _, l := range []look{{theme: "light", width: 1440, height: 900}, {theme: "dark", width: 360, height: 800}} {
		w := s.visit(l)
		w.logIn()
		w.open("/review?job=FB-1")
		w.checkAxe(string(script), fmt.Sprintf("comments-%d-%s", l.width, l.theme))
		if dir := os.Getenv("FLEETBOARD_SHOTS"); dir != "" {
			w.must("go to a comment", w.evaluate(`document.querySelector("#changes .cm").scrollIntoView({block: "center"})`))
			w.picture(filepath.Join(dir, fmt.Sprintf("comments-%d-%s.png", l.width, l.theme)))
		}
		w.key("m")
		w.sees("#dlg-comment[open]")
		w.must("wait until it stands", w.evaluate(`Promise.all(document.getAnimations().map((one) => one.finished))`))
		w.checkAxe(string(script), fmt.Sprintf("comment-dialog-%d-%s", l.width, l.theme))
		if dir := os.Getenv("FLEETBOARD_SHOTS"); dir != "" {
			w.picture(filepath.Join(dir, fmt.Sprintf("dialog-%d-%s.png", l.width, l.theme)))
		}
	}
	v.key("r")
	v.sees("#dlg-reject[open]")
	text("See the comments.")
	v.key("Control+Enter")
	v.sees(`#toasts:has-text("FB-1 was sent back")`)
	again := claimed(t, agent)
	if again.Key != "FB-1" || again.FeedbackComments == nil || len(*again.FeedbackComments) != 2 {
		t.Fatalf("the next attempt is of %s with %v", again.Key, again.FeedbackComments)
	}
	var answers []api.CommentAnswer
	for _, c := range *again.FeedbackComments {
		answers = append(answers, api.CommentAnswer{ID: c.ID, Note: "Done so."})
	}
	if _, err := agent.CompleteJobWithResponse(t.Context(), api.Completion{Job: "FB-1", Epoch: again.Lease.Epoch, Commit: number("bbbb2222"),
		Comments: &answers}); err != nil {
		t.Fatal(err)
	}
	v.open("/review?job=FB-1")
	v.sees(`#review-comments .cm:has-text("Resolved by claude-4, Outdated"):has-text("Done so.")`)
}
