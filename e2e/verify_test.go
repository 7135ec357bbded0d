package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
)

const (
	verifierWantsChanges = `{"verdict": "changes", "criteria": [{"text": "No new claim", "met": "no", "evidence": "A claim that waited is still served."}],
		"findings": [{"path": "internal/fleet/drain.go", "line": 43, "severity": "blocker", "text": "A claim that waits is served <b>after</b> the drain."},
		{"path": "internal/fleet/drain_test.go", "line": 0, "severity": "minor", "text": "Nothing drains twice."}]}`
	verifierApproves = `{"verdict": "approve", "criteria": [{"text": "No new claim", "met": "yes", "evidence": "TestDrain serves no claim that waited."}], "findings": []}`
)

// verify has an agent give its verdict in a verify job that it holds.
func verify(t *testing.T, agent *api.ClientWithResponses, held api.Job, verdict string) {
	t.Helper()
	answer, err := agent.CompleteJobWithResponse(t.Context(), api.Completion{Job: held.Key, Epoch: held.Lease.Epoch, Result: json.RawMessage(verdict)})
	if err != nil || answer.StatusCode() != http.StatusOK {
		t.Fatalf("verdict: %v %s", err, body(answer))
	}
}

// The review, the board and the page of a job follow a verification of two rounds without a reload, and
// show both rounds at every width and in both themes.
func TestAPersonSeesTheRoundsOfAVerification(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(axeFile)
	if err != nil {
		t.Fatalf("run tools/ensure-test-deps.sh: %v", err)
	}
	s := startServer(t)
	answer, err := s.owner().PutProductWithResponse(t.Context(), "books", api.PutProductJSONRequestBody{
		Verify: &api.ProductVerifySettings{Mode: number(api.VerifyByAgent)}})
	if err != nil || answer.StatusCode() != http.StatusCreated {
		t.Fatalf("product: %v %s", err, body(answer))
	}
	ada, bob := s.agent("ada"), s.agent("bob")
	submitForReview(t, s, api.NewJob{Title: "Drain a factory without losing leases", Product: number("books"), Acceptance: &[]string{"No new claim"}})
	v := s.visit(desktop)
	v.logIn()
	v.open("/review?job=FB-1")
	v.live()
	v.must("mark the page", mark(v))
	board := s.visit(desktop)
	board.logIn()
	board.open("/board")
	board.live()
	handIn(t, ada, "9be04d1f00")
	v.sees(`#verification-now:has-text("It waits for an agent to verify it")`)
	first := claimed(t, bob)
	v.sees(`#verification-now:has-text("bob on factory-of-bob verifies it")`)
	board.sees(`#card-fb-1:has-text("Verifying · bob")`)
	verify(t, bob, first, verifierWantsChanges)
	v.sees(`#review-gone`)
	handIn(t, ada, "aa11bb2200")
	v.sees(`#verification-now`)
	verify(t, bob, claimed(t, bob), verifierApproves)
	v.sees(`.vf-round:has-text("Approves")`)
	v.sees(`.vf-round:has-text("Wants changes")`)
	v.sees(`#nav-review-n:has-text("1")`)
	board.sees(`#card-fb-1:has-text("bob approves · 1 of 1 met · round 2 of 3")`)
	if !marked(v) {
		t.Error("the page was loaded again")
	}
	newest, older := v.box(".vf-round >> nth=0"), v.box(".vf-round >> nth=1")
	if newest.Y != older.Y || newest.X >= older.X {
		t.Errorf("the rounds are not side by side: %+v %+v", newest, older)
	}
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int{390, 1440} {
			p := s.visit(look{theme: theme, width: width, height: 900})
			p.logIn()
			for name, path := range map[string]string{"review": "/review?job=FB-1", "job": "/jobs/FB-1", "board": "/board", "verify": "/jobs/FB-2"} {
				p.open(path)
				name = fmt.Sprintf("verified-%s-%d-%s", name, width, theme)
				p.wantFit(name)
				p.checkAxe(string(script), name)
				if strings.Contains(name, "review-390") {
					if newest, older := p.box(".vf-round >> nth=0"), p.box(".vf-round >> nth=1"); newest.X != older.X {
						t.Errorf("the rounds are not one below another: %+v %+v", newest, older)
					}
				}
			}
		}
	}
}
