package handlertest

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/dispatch/report"
	"github.com/fleetboard/fleetboard/internal/jobs"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// HandIn makes a job and lets the agent hand it in for review.
func (w *Workspace) HandIn(agent tenancy.Principal, title string, c report.Completion, change ...func(*jobs.New)) jobs.Job {
	w.t.Helper()
	needed := true
	w.Job(title, append(change, func(n *jobs.New) { n.ReviewOverride = &needed })...)
	j := w.Claim(agent)
	done, err := w.OtherProcess.Complete(w.t.Context(), agent, lease.Ref{Job: j.Key, Epoch: j.Epoch}, c)
	if err != nil {
		w.t.Fatal(err)
	}
	return done.Job
}

// Decide posts a decision as the form of the review page does, on what the page
// shows.
func (s *Site) Decide(t *testing.T, key, verb string, fields url.Values) Answer {
	t.Helper()
	doc := Page(t, s.Get("/review?job="+key), http.StatusOK)
	form := doc.Find(`form[action="/review/` + key + `/` + verb + `"]`).First()
	if form.Length() == 0 {
		t.Fatalf("the page of %s offers no %s", key, verb)
	}
	sent := url.Values{"epoch": {form.Find("[name=epoch]").AttrOr("value", "")}, "head": {form.Find("[name=head]").AttrOr("value", "")}}
	for name, value := range fields {
		sent[name] = value
	}
	return s.Post("/review/"+key+"/"+verb, sent)
}
