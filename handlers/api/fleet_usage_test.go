package api_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// told returns a usage entry as an agent sends it.
func told(id string, over ...object) object {
	e := object{"id": id, "provider": "house", "model": "house-1", "provider_session": "s-1", "input_tokens": 10,
		"output_tokens": 20, "cache_read_tokens": 30, "cache_write_tokens": 40, "cost_usd": json.Number("0.1"), "operation": "edit",
		"at": "2026-11-21T10:00:00Z"}
	for _, o := range over {
		e = merge(e, o)
	}
	return e
}

// Each entry gets its answer; the job and its attempts show the sums, exactly.
func TestUsageOverHTTP(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	key := w.job("One")
	if a := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200); a.number("usage", "entries") != 0 || a.at("usage", "cost_usd") != nil {
		t.Errorf("nothing was told: %s", a.raw)
	}
	ref := w.claim(ada)
	got := w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": []object{
		told("a"), told("b", object{"cost_usd": "0.2"}), told("a"), told("a", object{"output_tokens": 99}),
		told("c", object{"input_tokens": -1, "model": "x\u001b[31m"}), told("d", object{"cost_usd": json.Number("-0.1")}),
		told("e", object{"job": "NOPE", "epoch": 1}), told("f", object{"epoch": 7}),
	}})).want(200)
	for i, want := range []string{"a recorded", "b recorded", "a known", "a raised", "c refused", "d refused", "e refused", "f refused"} {
		if is := got.text("results", i, "id") + " " + got.text("results", i, "status"); is != want {
			t.Errorf("result %d is %q; want %q", i, is, want)
		}
	}
	for i, code := range map[int]fault.Code{4: fault.Validation, 5: fault.Validation, 6: fault.NotFound, 7: fault.StaleEpoch} {
		if got.text("results", i, "code") != string(code) || got.text("results", i, "message") == "" {
			t.Errorf("result %d: %s", i, got.raw)
		}
	}
	if got.at("results", 4, "fields", "input_tokens") == nil || got.at("results", 4, "fields", "model") == nil || got.at("results", 5, "fields", "cost_usd") == nil {
		t.Errorf("fields: %s", got.raw)
	}

	// The lease may have ended, and the entry may say itself which one it was.
	w.as(ada, "POST", "/fleet/complete", ref).want(200)
	late := w.as(ada, "POST", "/fleet/usage", object{"entries": []object{merge(merge(ref, told("late")), object{"cost_usd": nil})}})
	late.want(400).refused(fault.Malformed, "entries[0].cost_usd")
	unpriced := merge(ref, told("late"))
	delete(unpriced, "cost_usd")
	for _, optional := range []string{"provider_session", "cache_read_tokens", "cache_write_tokens", "operation"} {
		delete(unpriced, optional)
	}
	if a := w.as(ada, "POST", "/fleet/usage", object{"entries": []object{unpriced}}).want(200); a.text("results", 0, "status") != "recorded" {
		t.Errorf("of an ended lease: %s", a.raw)
	}
	want := `{"cache_read_tokens":60,"cache_write_1h_tokens":0,"cache_write_tokens":80,"cost_usd":"0.300000000","entries":3,"imputed_usd":"0.000000000",` +
		`"input_tokens":30,"output_tokens":139,"reported_cost_usd":"0.300000000","unpriced_entries":1,"unpriced_tokens":309}`
	job := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	attempts := w.as(w.owner, "GET", "/jobs/"+key+"/attempts", nil).want(200)
	for name, usage := range map[string]any{"job": job.at("usage"), "attempt": attempts.at("items", 0, "usage")} {
		if raw, _ := json.Marshal(usage); string(raw) != want {
			t.Errorf("the %s's usage is %s; want %s", name, raw, want)
		}
	}
	if list := w.as(w.owner, "GET", "/jobs", nil).want(200); list.at("items", 0, "usage") != nil {
		t.Errorf("a list of jobs tells usage: %s", list.raw)
	}
}

// What is wrong with the form of a report refuses it as a whole, with the place.
func TestUsageOfAnotherForm(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	w.job("One")
	ref := w.claim(ada)
	many := make([]object, 201)
	for i := range many {
		many[i] = told(fmt.Sprint(i))
	}
	for name, c := range map[string]struct {
		body   object
		status int
		code   fault.Code
		field  string
	}{
		"no entries":        {ref, 422, fault.Validation, "entries"},
		"none":              {merge(ref, object{"entries": []object{}}), 422, fault.Validation, "entries"},
		"too many":          {merge(ref, object{"entries": many}), 422, fault.Validation, "entries"},
		"an unknown field":  {merge(ref, object{"entries": []object{told("a"), told("b", object{"tokens": 3})}}), 400, fault.Malformed, "entries[1].tokens"},
		"tokens in a text":  {merge(ref, object{"entries": []object{told("a", object{"input_tokens": "3"})}}), 400, fault.Malformed, "entries[0].input_tokens"},
		"half a token":      {merge(ref, object{"entries": []object{told("a", object{"input_tokens": 1.5})}}), 400, fault.Malformed, "entries[0].input_tokens"},
		"more than a long":  {merge(ref, object{"entries": []object{told("a", object{"input_tokens": json.Number("9223372036854775808")})}}), 422, fault.Validation, "entries[0].input_tokens"},
		"a cost that isn't": {merge(ref, object{"entries": []object{told("a", object{"cost_usd": true})}}), 400, fault.Malformed, "entries[0].cost_usd"},
		"a cost in a list":  {merge(ref, object{"entries": []object{told("a", object{"cost_usd": []int{1}})}}), 400, fault.Malformed, "entries[0].cost_usd"},
		"no time":           {merge(ref, object{"entries": []object{told("a", object{"at": "yesterday"})}}), 422, fault.Validation, "entries[0].at"},
		"no text":           {merge(ref, object{"entries": []object{told("a\x00")}}), 422, fault.Validation, "entries[0].id"},
		"no id":             {merge(ref, object{"entries": []object{{"provider": "x", "model": "x", "input_tokens": 1, "output_tokens": 1, "at": "2026-11-21T10:00:00Z"}}}), 422, fault.Validation, "entries[0].id"},
		"an empty job":      {merge(ref, object{"job": "", "entries": []object{told("a")}}), 422, fault.Validation, "job"},
	} {
		t.Log(name)
		w.as(ada, "POST", "/fleet/usage", c.body).want(c.status).refused(c.code, c.field)
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM usage_entry`); n != 0 {
		t.Errorf("%d entries of refused reports are kept", n)
	}
	// Costs as they may be written.
	for i, cost := range []any{json.Number("1e-9"), "1e-9", json.Number("0.1"), "0.10", 0, "0", json.Number("12.345678901"),
		json.Number("0.30000000000000004"), "0.30000000000000004"} {
		a := w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": []object{told(fmt.Sprint("cost-", i), object{"cost_usd": cost})}})).want(200)
		if a.text("results", 0, "status") != "recorded" {
			t.Errorf("%v: %s", cost, a.raw)
		}
	}
	if a := w.as(w.owner, "GET", "/jobs/"+fmt.Sprint(ref["job"]), nil).want(200); a.at("usage", "cost_usd") != "13.145678903" {
		t.Errorf("the costs add up to %v", a.at("usage", "cost_usd"))
	}
}

// A batch reports usage beside other reports, and each is answered as it would be alone.
func TestUsageInABatch(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	w.job("One")
	ref := w.claim(ada)
	usage := func(over object) object { return merge(merge(ref, object{"verb": "usage"}), over) }
	got := w.as(ada, "POST", "/fleet/batch", object{"items": []object{
		usage(object{"entries": []object{told("a"), told("b", object{"input_tokens": -1})}}),
		usage(object{"entries": []object{}}),
		merge(ref, object{"verb": "complete"}),
		usage(object{"entries": []object{told("a"), told("after")}}),
		usage(object{"epoch": 3, "entries": []object{told("stale")}}),
	}}).want(200)
	for i, want := range []int64{200, 422, 200, 200, 200} {
		if got.number("items", i, "status") != want {
			t.Errorf("item %d: %s", i, got.raw)
		}
	}
	for _, c := range []struct {
		item, result int
		want         string
	}{{0, 0, "recorded"}, {0, 1, "refused"}, {3, 0, "known"}, {3, 1, "recorded"}, {4, 0, "refused"}} {
		if is := got.text("items", c.item, "body", "results", c.result, "status"); is != c.want {
			t.Errorf("item %d, result %d: %s; want %s", c.item, c.result, is, c.want)
		}
	}
	if code := got.text("items", 4, "body", "results", 0, "code"); code != string(fault.StaleEpoch) {
		t.Errorf("an epoch that never was: %s", code)
	}
	if n := dbfactory.Int(t, w.db, `SELECT sum(input_tokens) FROM job_usage`); n != 20 {
		t.Errorf("%d tokens are counted; want those of two messages", n)
	}
}

// A boot that was replaced learns so, as by its other reports.
func TestUsageOfAReplacedBoot(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	before := w.agent("ada")
	w.job("One")
	ref := w.claim(before)
	now := w.agent("ada", object{"boot_id": "another"})
	w.as(before, "POST", "/fleet/usage", merge(ref, object{"entries": []object{told("a")}})).want(409).refused(fault.Superseded)
	if a := w.as(now, "POST", "/fleet/usage", merge(ref, object{"entries": []object{told("a")}})).want(200); a.text("results", 0, "status") != "recorded" {
		t.Errorf("the present boot: %s", a.raw)
	}
}

// Usage comes with other reports too, is booked before they are carried out, and is
// answered beside their answers.
func TestUsageComesWithOtherReports(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	for i, r := range []struct {
		path   string
		body   object
		status int
	}{
		{"/fleet/progress", object{"progress_percent": 10}, 200},
		{"/fleet/complete", object{"summary": "done"}, 200},
		{"/fleet/fail", object{"error": "boom"}, 200},
		{"/fleet/ask", object{"question": "Which one?"}, 200},
		{"/fleet/release", object{"reason": "shift ends"}, 200},
		{"/fleet/renew", object{}, 400}, // which reports none
	} {
		key := w.job(r.path)
		id := fmt.Sprintf("u-%d", i)
		a := w.as(ada, "POST", r.path, merge(merge(w.claim(ada), r.body), object{"usage": []object{told(id), told(id)}}))
		a.want(r.status)
		if r.status != 200 {
			continue
		}
		if is := a.text("usage_results", 0, "status") + " " + a.text("usage_results", 1, "status"); is != "recorded known" {
			t.Errorf("%s: %s", r.path, a.raw)
		}
		if job := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200); job.number("usage", "entries") != 1 {
			t.Errorf("after %s: %s", r.path, job.raw)
		}
	}
}

// A heartbeat reports the usage of all leases in their order; one whose lease is gone is
// booked as well, and so is that of a report that is refused.
func TestUsageComesWithHeartbeats(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	ada := w.agent("ada")
	w.job("One")
	w.job("Two")
	first, second := w.claim(ada), w.claim(ada)
	w.as(ada, "POST", "/fleet/complete", first).want(200)
	beat := object{"boot_id": "ada-boot", "status": "working", "leases": []object{
		merge(first, object{"usage": []object{told("a")}}), merge(second, object{"usage": []object{told("b"), told("c", object{"input_tokens": -1})}})}}
	a := w.as(ada, "POST", "/agents/ada/heartbeat", beat).want(200)
	for i, want := range []string{"a recorded", "b recorded", "c refused"} {
		if is := a.text("usage_results", i, "id") + " " + a.text("usage_results", i, "status"); is != want {
			t.Errorf("result %d is %q; want %q", i, is, want)
		}
	}
	w.as(ada, "POST", "/fleet/complete", merge(first, object{"summary": "another", "usage": []object{told("d")}})).want(409).refused(fault.AlreadyEnded)
	if a := w.as(ada, "POST", "/fleet/usage", merge(first, object{"entries": []object{told("d")}})).want(200); a.text("results", 0, "status") != "known" {
		t.Errorf("the usage of a refused report was not booked: %s", a.raw)
	}
	var many []object
	for i := range 201 {
		many = append(many, told(fmt.Sprint("m", i)))
	}
	w.as(ada, "POST", "/agents/ada/heartbeat", merge(beat, object{"leases": []object{
		merge(first, object{"usage": many[:100]}), merge(second, object{"usage": many[100:]})}})).want(422).refused(fault.Validation, "leases")
}
