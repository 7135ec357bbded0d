package worker

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client"
	"github.com/fleetboard/fleetboard/internal/tiermodel"
)

// The product's table comes first, then the worker's own, then its default; what is no name of a
// model is none, whoever says it.
func TestAModelIsChosen(t *testing.T) {
	own := tiermodel.Table{"claude": {"small": "haiku", "large": "opus"}, "codex": {"large": "-c"}}
	for name, c := range map[string]struct {
		engine  string
		tier    api.Tier
		product api.ModelTable
		model   string
		why     api.ModelRunWhy
	}{
		"the product":            {"claude", api.TierLarge, api.ModelTable{"claude": {"large": "opusplan"}}, "opusplan", api.ModelNamedByProduct},
		"the worker":             {"claude", api.TierSmall, api.ModelTable{"claude": {"large": "opusplan"}}, "haiku", api.ModelNamedByWorker},
		"neither":                {"claude", api.TierStandard, api.ModelTable{"codex": {"standard": "gpt-5"}}, "sonnet", api.ModelByDefault},
		"an empty table":         {"claude", api.TierLarge, api.ModelTable{}, "opus", api.ModelNamedByWorker},
		"an old server":          {"claude", api.TierLarge, nil, "opus", api.ModelNamedByWorker},
		"an older server":        {"claude", api.TierEmpty, nil, "sonnet", api.ModelByDefault},
		"an option":              {"claude", api.TierLarge, api.ModelTable{"claude": {"large": "--resume=x"}}, "opus", api.ModelNamedByWorker},
		"a command":              {"claude", api.TierStandard, api.ModelTable{"claude": {"standard": "$(id)"}}, "sonnet", api.ModelByDefault},
		"two arguments":          {"claude", api.TierStandard, api.ModelTable{"claude": {"standard": "a --b"}}, "sonnet", api.ModelByDefault},
		"the worker's mistake":   {"codex", api.TierLarge, nil, "sonnet", api.ModelByDefault},
		"a tier of the future":   {"claude", "huge", api.ModelTable{"claude": {"large": "x"}}, "sonnet", api.ModelByDefault},
		"no tier, a table of ''": {"claude", api.TierEmpty, api.ModelTable{"claude": {"": "x"}, "": {"": "y"}}, "x", api.ModelNamedByProduct},
	} {
		w := &Worker{Options: Options{Model: "sonnet", Models: own}}
		got := w.chooseModel(c.engine, api.Job{Tier: c.tier, Models: c.product})
		if got.Name != c.model || got.Why != c.why || got.Engine != c.engine {
			t.Errorf("%s: it runs %+v", name, got)
		}
	}
}

// A server whose claims have models is told what runs; one that does not know of it is told nothing,
// and one that refuses it does not stop the work.
func TestTheModelIsTold(t *testing.T) {
	var told []api.StartReport
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body api.StartReport
		if r.URL.Path != "/api/v1/fleet/start" || json.NewDecoder(r.Body).Decode(&body) != nil {
			t.Errorf("it calls %s", r.URL)
		}
		told = append(told, body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"directive": "continue", "code": "validation", "status": 422, "title": "No", "detail": "No."}`))
	}))
	defer server.Close()
	c, err := client.New(server.URL, "x", api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tell := func(models api.ModelTable) *attempt {
		l := newLease("FB-1", 1, sinceBoot()+1<<40)
		w := &Worker{api: c}
		a := &attempt{w: w, lease: l, job: api.Job{Key: "FB-1", Tier: api.TierLarge, Models: models}, reporter: newReporter(l, c, nil, nil)}
		a.model = w.chooseModel("claude", a.job)
		a.tellModel(context.Background())
		return a
	}
	tell(nil)
	if len(told) != 0 {
		t.Errorf("an old server is told %+v", told)
	}
	tell(api.ModelTable{"claude": {"large": "opus"}})
	if len(told) != 1 || told[0].Model == nil || told[0].Model.Name != "opus" || told[0].Model.Why != api.ModelNamedByProduct ||
		told[0].Model.Tier == nil || *told[0].Model.Tier != api.TierLarge {
		t.Errorf("it is told %+v", told)
	}
	status = http.StatusUnprocessableEntity
	if a := tell(api.ModelTable{}); a.lease.work.Err() != nil {
		t.Error("a refusal ends the attempt")
	}
	server.Close()
	if a := tell(api.ModelTable{}); a.lease.work.Err() != nil || a.reporter.progress.Model == nil {
		t.Error("where the server is away, it is not told with the next report")
	}
}

// Where the job is paused before its engine starts, it goes back with the reason that the server
// gives: of a budget, a person or a stop.
func TestAPauseBeforeTheStart(t *testing.T) {
	answer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	c, err := client.New(server.URL, "x", api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]string{
		`{"directive": "pause", "reason": "Olga stopped the work: fire"}`: "Olga stopped the work: fire",
		`{"directive": "pause"}`: "The job was paused before it began.",
	} {
		answer = said
		a := &attempt{w: &Worker{api: c}, lease: newLease("FB-1", 1, sinceBoot()+1<<40), job: api.Job{Key: "FB-1"}}
		if reason, ok := a.mayBegin(context.Background()); ok || reason != want {
			t.Errorf("%s: it begins %t, %q", said, ok, reason)
		}
	}
}
