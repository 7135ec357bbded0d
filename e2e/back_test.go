package e2e

import (
	"net/http"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

// Who goes back to the board gets the page that the browser has, and by its stream what changed
// meanwhile; after a log-out it gets nothing of it.
func TestBackCostsNothingAndShowsNews(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.submit("Raise the roof")
	v := s.visit(desktop)
	v.logIn()
	v.live()
	v.click(card("FB-1", "ready") + " .job-link")
	v.sees("h1:has-text('the roof')")
	answer, err := s.owner().PatchJobWithResponse(t.Context(), "FB-1", api.JobPatch{Version: s.job("FB-1").Version, Title: number("Thatch the roof")})
	if err != nil || answer.StatusCode() != http.StatusOK {
		t.Fatalf("%v %s", err, body(answer))
	}
	_, err = v.tab.GoBack()
	v.must("go back", err)
	v.sees(card("FB-1", "ready") + ":has-text('Thatch the roof')")
	if got := v.text(`performance.getEntriesByType("navigation")[0].transferSize`); got != "0" {
		t.Errorf("going back took %s bytes", got)
	}
	v.live()
	v.open("about:blank") // which no log-out sends elsewhere meanwhile
	_, err = v.tab.Context().Request().Post(s.url + "/logout")
	v.must("log out", err)
	_, err = v.tab.GoBack()
	v.must("go back", err)
	v.sees("#password")
	v.gone("#board")
}
