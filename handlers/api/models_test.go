package api_test

import (
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// A product names models for tiers, claims carry them, and an attempt keeps which one ran and why.
func TestAProductNamesModels(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada", object{"model": "registered"})
	if models := w.as(w.owner, "GET", "/products/default", nil).want(200).at("models"); len(models.(map[string]any)) != 0 {
		t.Errorf("a product that names none says %v", models)
	}
	w.as(w.owner, "PUT", "/products/books", object{"repos": []string{}, "models": object{"claude": object{"small": "haiku", "large": "opus"}, "codex": object{}}}).want(201)
	if got := w.as(w.owner, "GET", "/products/books", nil).want(200); got.text("models", "claude", "large") != "opus" || strings.Contains(string(got.raw), "codex") {
		t.Errorf("it is %s", got.raw)
	}
	key := w.job("Work", object{"product": "books", "tier": "large"})
	claimed := w.as(ada, "POST", "/fleet/claim", object{}).want(200)
	if claimed.text("jobs", 0, "models", "claude", "large") != "opus" {
		t.Errorf("the claim says %s", claimed.raw)
	}
	if read := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200); strings.Contains(string(read.raw), `"models"`) {
		t.Errorf("a job that is read says %s", read.raw)
	}
	attempt := func() (engine, model, why, tier string) {
		a := w.as(w.owner, "GET", "/jobs/"+key+"/attempts", nil).want(200)
		return a.text("items", 0, "engine"), a.text("items", 0, "model"), a.text("items", 0, "model_why"), a.text("items", 0, "tier")
	}
	held := object{"job": key, "epoch": 1}
	w.as(ada, "POST", "/fleet/start", held).want(200) // as agents do that know nothing of it
	if engine, model, why, tier := attempt(); engine != "" || model != "registered" || why != "" || tier != "" {
		t.Errorf("an agent that tells nothing runs %q, %q, %q, %q", engine, model, why, tier)
	}
	run := object{"engine": "claude", "name": "opus", "why": "product", "tier": "large"}
	w.as(ada, "POST", "/fleet/start", merge(held, object{"model": run})).want(200)
	if engine, model, why, tier := attempt(); engine != "claude" || model != "opus" || why != "product" || tier != "large" {
		t.Errorf("it runs %q, %q, %q, %q", engine, model, why, tier)
	}
	w.as(ada, "POST", "/fleet/progress", merge(held, object{"model": object{"engine": "codex", "name": "", "why": "default"}})).want(200)
	w.as(ada, "POST", "/fleet/progress", merge(held, object{"current_step": "works"})).want(200)
	if engine, model, why, tier := attempt(); engine != "codex" || model != "" || why != "default" || tier != "" {
		t.Errorf("it runs %q, %q, %q, %q", engine, model, why, tier)
	}
	for field, wrong := range map[string]object{
		"model.engine": {"engine": "-x"}, "model.name": {"name": "a\nb"}, "model.why": {"why": "because"}, "model.tier": {"tier": "huge"},
	} {
		w.as(ada, "POST", "/fleet/progress", merge(held, object{"model": merge(run, wrong)})).want(422).refused(fault.Validation, field)
	}
	bob := w.agent("bob")
	w.as(bob, "POST", "/fleet/start", merge(held, object{"model": run})).want(409)
	if engine, _, _, _ := attempt(); engine != "codex" {
		t.Error("another agent says what runs")
	}
}

// What becomes an argument of a command is the name of a model, and nothing else.
func TestHostileNamesOfModelsAreRefused(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for _, name := range []string{"", "-p", "--dangerously-skip-permissions", "a b", "$(id)", "a;b", "a\nb", "a\u0000b", "\u202ea", "/etc/passwd",
		strings.Repeat("a", 65)} {
		w.as(w.owner, "PUT", "/products/books", object{"models": object{"claude": object{"large": name}}}).want(422).
			refused(fault.Validation, "models.claude.large")
	}
	for field, models := range map[string]object{"models": {"Claude Code": object{"large": "opus"}}, "models.claude": {"claude": object{"huge": "opus"}}} {
		w.as(w.owner, "PUT", "/products/books", object{"models": models}).want(422).refused(fault.Validation, field)
	}
	w.as(w.owner, "PUT", "/products/books", object{"models": object{"claude": object{"large": 7}}}).want(400)
	w.as(w.owner, "GET", "/products/books", nil).want(404)
}
