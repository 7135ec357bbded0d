package agents_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/e2e/handlertest"
	"github.com/fleetboard/fleetboard/internal/fleet"
)

// The page names what a factory does not offer, and what it has moved aside, with no more than
// some lines of whatever a host says.
func TestTroublesOfAFactory(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	now := time.Now()
	d.Agent("ada", func(r *fleet.Registration) {
		r.Factory.Engines = nil
		r.Factory.Unavailable = []fleet.Unavailable{
			{Kind: "engine", Name: "claude", Reason: "Invalid API key · Please run /login", Since: now.Add(-5 * time.Minute)},
			{Kind: "repo", Name: "atlas", Reason: "<b>bold</b>\u202e", Since: now.Add(time.Hour)},
		}
		r.Factory.Rescued = []fleet.Rescued{{Name: "FB-1-e1", Path: "/state/rescue/FB-1-e1", Why: "The agent's repository cannot be read", Since: now}}
	})
	d.Agent("bob", func(r *fleet.Registration) {
		for i := range 40 {
			r.Factory.Unavailable = append(r.Factory.Unavailable, fleet.Unavailable{Kind: "repo", Name: fmt.Sprint("repo-", i), Since: now})
		}
	})
	doc := handlertest.Page(t, d.Get("/agents"), http.StatusOK)
	ada := "#factory-factory-of-ada-trouble li"
	handlertest.WantCount(t, doc, ada, 3)
	for _, want := range []string{"claude has not been offered for 5m: Invalid API key · Please run /login. It is tried again by itself.",
		"The repo atlas has not been offered for 0s: <b>bold</b>\ufffd. It is tried again by itself.",
		"moved aside 0s ago: /state/rescue/FB-1-e1. The agent's repository cannot be read. When you have looked at it: fleet worker rescue remove FB-1-e1"} {
		handlertest.WantText(t, doc, ada, want)
	}
	handlertest.WantCount(t, doc, ada+" b b", 0)
	handlertest.WantCount(t, doc, "#factory-factory-of-bob-trouble li", 7)
	handlertest.WantText(t, doc, "#factory-factory-of-bob-trouble", "And 34 more")
}

// A factory that has ended is neither dead nor late, and can be removed.
func TestAnEndedFactoryOnThePage(t *testing.T) {
	d := handlertest.NewWorkspace(t)
	d.Agent("zoe")
	ada := d.Agent("ada")
	if err := d.OtherProcess.EndAgent(t.Context(), ada, "ada"); err != nil {
		t.Fatal(err)
	}
	dbfactory.Exec(t, d.DB, `UPDATE agent SET last_heartbeat_at = now() - interval '1 hour' WHERE name = 'ada'`)
	doc := handlertest.Page(t, d.Get("/agents"), http.StatusOK)
	handlertest.WantText(t, doc, "#agents-count", "1 live factory, 1 agent")
	handlertest.WantText(t, doc, "#factory-factory-of-ada .pill", "Ended")
	handlertest.WantCount(t, doc, "#factory-factory-of-ada .st-failed", 0)
	handlertest.WantText(t, doc, "#factory-factory-of-ada tbody", "Ended")
	handlertest.WantCount(t, doc, "form[action='/factories/factory-of-ada/remove']", 1)
	handlertest.WantText(t, doc, "#fleet", "ended")
	handlertest.WantText(t, doc, "#agents-kinds", "Attention 0")
	handlertest.WantText(t, d.Timeline("/timeline", 5), "#timeline", "ended")
}
