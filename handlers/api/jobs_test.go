package api_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs"
)

func TestCreateSaysWhereTheJobCanRun(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.agent("ada")

	here := w.as(w.owner, "POST", "/jobs", object{"title": "Fix it", "repo": "atlas", "capabilities": []string{"os:linux", "has:git"},
		"acceptance": []string{"It works"}, "tags": []string{"x"}, "input_context": object{"command": "make", "big": 12345678901234567}}).want(201)
	if here.at("routability", "routable") != true || here.text("routability", "eligible_factories", 0) != "ada-host" {
		t.Errorf("routability: %s", here.raw)
	}
	if here.text("status") != "ready" || here.text("product") != "default" || here.number("priority") != 5 || here.number("version") != 1 {
		t.Errorf("defaults: %s", here.raw)
	}
	if !strings.HasSuffix(here.text("created_at"), "Z") {
		t.Errorf("not UTC: %s", here.text("created_at"))
	}

	nowhere := w.as(w.owner, "POST", "/jobs", object{"title": "Lost", "repo": "nobody-has-it", "capabilities": []string{"gpu:h100"}}).want(201)
	if nowhere.at("routability", "routable") != false || nowhere.count("routability", "eligible_factories") != 0 ||
		nowhere.text("routability", "ineligible_factories", 0, "factory") != "ada-host" ||
		nowhere.text("routability", "ineligible_factories", 0, "reason") != "missing" ||
		nowhere.count("routability", "ineligible_factories", 0, "missing") != 2 {
		t.Errorf("routability: %s", nowhere.raw)
	}
	why := w.as(w.owner, "GET", "/jobs/"+nowhere.text("key")+"/explanation", nil).want(200)
	if why.text("reasons", 0, "code") != "no_factory" || !strings.Contains(why.text("reasons", 0, "detail"), "gpu:h100") {
		t.Errorf("explanation: %s", why.raw)
	}
	preview := w.as(w.owner, "POST", "/routability", object{"repo": "atlas", "factory": "elsewhere", "product": "default"}).want(200)
	if preview.at("routable") != false || preview.text("ineligible_factories", 0, "reason") != "other_factory" {
		t.Errorf("preview: %s", preview.raw)
	}
	w.as(w.owner, "POST", "/routability", object{"product": "none"}).want(422).refused(fault.Validation, "product")
}

func TestBigNumbersStayExact(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	const digits = "12345678901234567890123456789012345678901234567890.125"
	key := w.as(w.owner, "POST", "/jobs", `{"title":"n","input_context":{"n":`+digits+`}}`).want(201).text("key")
	read := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	if got := fmt.Sprint(read.at("input_context", "n")); got != digits {
		t.Errorf("%s became %s", digits, got)
	}
}

func TestBatchIsAllOrNothing(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.agent("ada")
	batch := object{"jobs": []object{{"title": "a", "key": "A-1", "repo": "atlas"},
		{"title": "b", "depends_on": []string{"A-1"}, "capabilities": []string{"gpu:h100"}}}}
	made := w.as(w.owner, "POST", "/jobs/batch", batch).want(201)
	if made.text("jobs", 1, "status") != "waiting" || made.text("jobs", 1, "depends_on", 0) != "A-1" ||
		made.at("jobs", 0, "routable") != true || made.at("jobs", 1, "routable") != false {
		t.Errorf("batch: %s", made.raw)
	}
	w.as(w.owner, "POST", "/jobs/batch", object{"jobs": []object{{"title": "new"}, {"title": "bad", "depends_on": []string{"NOPE"}}}}).
		want(422).refused(fault.Validation)
	w.as(w.owner, "POST", "/jobs/batch", object{"jobs": []object{{"title": "bad", "product": "NOPE"}}}).
		want(422).refused(fault.Validation, "jobs[0].product")
	w.as(w.owner, "POST", "/jobs/batch", object{"jobs": []object{{"title": "x", "key": "X-1", "depends_on": []string{"X-2"}},
		{"title": "y", "key": "X-2", "depends_on": []string{"X-1"}}}}).want(409).refused(fault.DependencyCycle)
	if n := w.as(w.owner, "GET", "/jobs", nil).want(200).count("items"); n != 2 {
		t.Errorf("%d jobs, want the 2 of the good batch", n)
	}
	w.as(w.owner, "POST", "/jobs", object{"title": "again", "key": "A-1"}).want(409).refused(fault.AlreadyExists)
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	first := w.as(w.owner, "POST", "/jobs", `{"title":"once","priority":7}`, "Idempotency-Key", "k1").want(201)
	again := w.as(w.owner, "POST", "/jobs", ` { "priority" : 7, "title" : "once" } `, "Idempotency-Key", "k1").want(200)
	if again.text("id") != first.text("id") || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("not the first answer: %v %s", again.header, again.raw)
	}
	w.as(w.owner, "POST", "/jobs", object{"title": "other"}, "Idempotency-Key", "k1").want(422).refused(fault.IdempotencyKeyReused)
	w.as(w.owner, "POST", "/jobs/batch", object{"jobs": []object{{"title": "once", "priority": 7}}}, "Idempotency-Key", "k1").
		want(422).refused(fault.IdempotencyKeyReused)
	w.as(w.owner, "POST", "/jobs", object{"title": "x"}, "Idempotency-Key", strings.Repeat("k", 256)).
		want(422).refused(fault.Validation, "Idempotency-Key")
	batch := object{"jobs": []object{{"title": "one"}, {"title": "two"}}}
	made := w.as(w.owner, "POST", "/jobs/batch", batch, "Idempotency-Key", "k2").want(201)
	repeated := w.as(w.owner, "POST", "/jobs/batch", batch, "Idempotency-Key", "k2").want(200)
	if repeated.text("jobs", 1, "id") != made.text("jobs", 1, "id") {
		t.Errorf("not the first answer: %s", repeated.raw)
	}
	if n := w.as(w.owner, "GET", "/jobs", nil).want(200).count("items"); n != 3 {
		t.Errorf("%d jobs, want 3", n)
	}
}

func TestIdempotencyKeyOfAJob(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	first := w.as(w.owner, "POST", "/jobs", object{"title": "once", "idempotency_key": "k"}).want(201)
	again := w.as(w.owner, "POST", "/jobs", object{"title": "once", "idempotency_key": "k"}).want(200)
	if again.text("id") != first.text("id") {
		t.Errorf("not the first answer: %s", again.raw)
	}
	for _, other := range []object{{"title": "twice"}, {"title": "once", "priority": 9}, {"title": "once", "input_context": object{"a": 1}}} {
		w.as(w.owner, "POST", "/jobs", merge(other, object{"idempotency_key": "k"})).want(422).refused(fault.IdempotencyKeyReused)
	}
	w.as(w.owner, "PATCH", "/jobs/"+first.text("key"), object{"version": 1, "title": "changed since"}).want(200)
	w.as(w.owner, "POST", "/jobs", object{"title": "once", "idempotency_key": "k"}).want(200)
	statuses := make([]int, 8)
	var all sync.WaitGroup
	for i := range statuses {
		all.Go(func() {
			statuses[i] = w.as(w.owner, "POST", "/jobs", object{"title": "together", "idempotency_key": "t"}).status
		})
	}
	all.Wait()
	if slices.Sort(statuses); !slices.Equal(statuses, []int{200, 200, 200, 200, 200, 200, 200, 201}) {
		t.Errorf("the same job eight times at once: %v", statuses)
	}
	batch := object{"jobs": []object{{"title": "new"}, {"title": "once", "idempotency_key": "k"}}}
	if refused := w.as(w.owner, "POST", "/jobs/batch", batch).want(409).refused(fault.AlreadyExists); refused.text("field") != "jobs[1].idempotency_key" {
		t.Errorf("the entry is not named: %s", refused.raw)
	}
	if n := w.as(w.owner, "GET", "/jobs", nil).want(200).count("items"); n != 2 {
		t.Errorf("%d jobs, want 2", n)
	}
}

func TestPairsOfSurrogatesAreCharacters(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	made := w.as(w.owner, "POST", "/jobs", `{"title":"a\ud83d\uDE00 \\ud83d \u00e9"}`).want(201)
	if got, want := made.text("title"), `a😀 \ud83d é`; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
}

func TestListFiltersAndPages(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	for i := range 5 {
		w.job(fmt.Sprintf("Job %d", i), object{"priority": i, "phase": "M1", "tags": []string{"blue"}, "repo": "atlas"})
	}
	w.job("Later", object{"not_before": "2099-01-01T00:00:00Z"})

	var seen []string
	path := "/jobs?phase=M1&limit=2"
	for cursor := ""; ; {
		page := w.as(w.owner, "GET", path+cursor, nil).want(200)
		for i := range page.count("items") {
			seen = append(seen, page.text("items", i, "title"))
		}
		if page.text("next_cursor") == "" {
			break
		}
		cursor = "&cursor=" + page.text("next_cursor")
	}
	if want := []string{"Job 4", "Job 3", "Job 2", "Job 1", "Job 0"}; !slices.Equal(seen, want) {
		t.Errorf("pages gave %v, want %v", seen, want)
	}
	for query, want := range map[string]int{"status=waiting": 1, "status=waiting&status=ready": 6, "priority_gte=3": 3,
		"ready_only=true": 5, "q=job%203": 1, "key=FB-1&key=FB-3&key=none": 2, "tag=blue": 5, "tag=red": 0, "repo=atlas": 5, "product=default": 6,
		"updated_since=2099-01-01T00:00:00Z": 0, "factory=none": 0, "agent=none": 0} {
		if got := w.as(w.owner, "GET", "/jobs?"+query, nil).want(200).count("items"); got != want {
			t.Errorf("%s gave %d jobs, want %d", query, got, want)
		}
	}
	stats := w.as(w.owner, "GET", "/stats", nil).want(200)
	if stats.number("by_status", "ready") != 5 || stats.number("by_status", "waiting") != 1 || stats.number("by_status", "failed") != 0 ||
		stats.text("products", 0, "product") != "default" {
		t.Errorf("stats: %s", stats.raw)
	}
	if products := w.as(w.owner, "GET", "/products", nil).want(200); products.text("items", 0, "name") != "default" {
		t.Errorf("products: %s", products.raw)
	}
}

func TestPatchKnowsItsVersion(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	key := w.job("Old", object{"tags": []string{"x"}})
	edited := w.as(w.owner, "PATCH", "/jobs/"+key, object{"version": 1, "title": "New", "tags": []string{}}).want(200)
	if edited.text("title") != "New" || edited.count("tags") != 0 || edited.number("version") != 2 {
		t.Errorf("edited: %s", edited.raw)
	}
	stale := w.as(w.owner, "PATCH", "/jobs/"+key, object{"version": 1, "title": "Lost"}).want(409).refused(fault.VersionConflict)
	if stale.text("job", "title") != "New" {
		t.Errorf("the present job is missing: %s", stale.raw)
	}
	w.as(w.owner, "PATCH", "/jobs/"+key, object{"title": "x"}).want(422).refused(fault.Validation, "version")
	if byID := w.as(w.owner, "GET", "/jobs/"+edited.text("id"), nil).want(200); byID.text("key") != key {
		t.Errorf("by id: %s", byID.raw)
	}
}

// A finished job that is run again for more tells its next attempt what; without a reason it is as before.
func TestAFurtherTurn(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	key := w.job("Rename the flag")
	w.as(w.owner, "POST", "/jobs/"+key+"/complete", object{"reason": "done by hand"}).want(200)
	again := w.as(w.owner, "POST", "/jobs/"+key+"/retry", object{"reason": "  Also rename its test.  "}).want(200)
	if again.text("status") != "ready" || again.text("feedback") != "Also rename its test." {
		t.Errorf("asked for more it is %s and says %q", again.text("status"), again.text("feedback"))
	}
	w.as(w.owner, "POST", "/jobs/"+key+"/retry", object{"reason": "And more."}).want(409).refused(fault.InvalidTransition)
	w.as(w.owner, "POST", "/jobs/"+key+"/cancel", object{"reason": "no"}).want(200)
	w.as(w.owner, "POST", "/jobs/"+key+"/retry", object{"reason": strings.Repeat("x", jobs.MaxReason+1)}).want(422).refused(fault.Validation, "reason")
	if plain := w.as(w.owner, "POST", "/jobs/"+key+"/retry", nil).want(200); plain.text("feedback") != "Also rename its test." {
		t.Errorf("retried without a reason its feedback is %q", plain.text("feedback"))
	}
}

func TestPeopleMoveJobs(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	key := w.job("Move me")
	steps := []struct {
		verb, status string
		body         any
	}{
		{"block", "blocked", object{"reason": "wait for Ann"}}, {"unblock", "ready", nil}, {"pause", "paused", object{}},
		{"resume", "ready", nil}, {"cancel", "aborted", object{"reason": "not needed"}}, {"retry", "ready", nil},
		{"cancel", "aborted", object{"reason": "really", "version": 0}}, {"archive", "archived", nil},
	}
	version := int64(1)
	for _, step := range steps {
		if b, ok := step.body.(object); ok && b["version"] != nil {
			b["version"] = version
		}
		moved := w.as(w.owner, "POST", "/jobs/"+key+"/"+step.verb, step.body).want(200)
		if moved.text("status") != step.status {
			t.Fatalf("%s led to %s, want %s", step.verb, moved.text("status"), step.status)
		}
		version = moved.number("version")
	}
	refused := w.as(w.owner, "POST", "/jobs/"+key+"/pause", nil).want(409).refused(fault.InvalidTransition)
	if refused.text("job_status") != "archived" {
		t.Errorf("the status is not named: %s", refused.raw)
	}
	w.as(w.owner, "POST", "/jobs/"+key+"/block", nil).want(400).refused(fault.Malformed)
	w.as(w.owner, "POST", "/jobs/"+key+"/block", object{}).want(422).refused(fault.Validation, "reason")

	events := w.as(w.owner, "GET", "/jobs/"+key+"/events?limit=3", nil).want(200)
	if events.text("items", 0, "type") != "job.archived" || events.count("items") != 3 || events.text("items", 0, "job") != key {
		t.Errorf("events: %s", events.raw)
	}
	older := w.as(w.owner, "GET", "/jobs/"+key+"/events?limit=100&cursor="+events.text("next_cursor"), nil).want(200)
	if older.text("next_cursor") != "" || older.text("items", older.count("items")-1, "type") != "job.created" {
		t.Errorf("older events: %s", older.raw)
	}
}
