package api_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/db/dbfactory"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// A workspace's prices win over the built-in list from their instant on; what was booked
// keeps its price, and a price is never changed.
func TestPrices(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	builtin := w.as(w.owner, "GET", "/prices", nil).want(200).count("items")
	price := func(over object) object {
		return merge(object{"provider": "house", "model": "house-*", "valid_from": "2026-01-01T00:00:00Z", "input": "1.25", "output": "10",
			"cache_read": "0.125", "cache_write": "1.25", "cache_write_1h": "2.5", "source": "the contract"}, over)
	}
	save := func(list ...object) answer { return w.as(w.owner, "PUT", "/prices", object{"prices": list}) }
	for range 2 {
		all := save(price(nil)).want(200)
		if all.count("items") != builtin+1 || all.text("items", 0, "input") != "1.250000000" || all.at("items", 0, "built_in") != false ||
			all.at("items", 1, "built_in") != true {
			t.Errorf("saved: %s", all.raw)
		}
	}
	if n := dbfactory.Int(t, w.db, `SELECT count(*) FROM event WHERE type = 'price.saved'`); n != 1 {
		t.Errorf("%d events tell of one price", n)
	}
	ada := w.agent("ada")
	key := w.job("One")
	ref := w.claim(ada)
	tell := func(id string, more object) {
		entry := merge(object{"id": id, "provider": "house", "model": "house-1", "input_tokens": 1_000_000, "output_tokens": 0, "at": "2026-11-21T10:00:00Z"}, more)
		w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": []object{entry}})).want(200)
	}
	tell("one", nil)
	save(price(object{"model": "house-1", "input": "2"})).want(200)
	tell("two", nil)
	tell("one", object{"input_tokens": 2_000_000})
	job := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	if got := job.at("usage", "cost_usd"); got != "4.500000000" {
		t.Errorf("two million at the first price and one at the second cost %v", got)
	}

	save(price(object{"input": "1.26"})).want(422).refused(fault.Validation, "prices[0].valid_from")
	save(price(object{"valid_from": "2026-02-01T00:00:00Z", "input": "-1", "output": "0.0000001", "cache_read": "1001", "cache_write": "a"}),
		price(object{"model": "a*b*", "valid_from": "1999-01-01T00:00:00Z"})).want(422).
		refused(fault.Validation, "prices[0].input", "prices[0].output", "prices[0].cache_read", "prices[0].cache_write", "prices[1].model", "prices[1].valid_from")
	later := object{"valid_from": "2026-03-01T00:00:00Z"}
	save(price(later), price(later)).want(422).refused(fault.Validation, "prices[1].valid_from")
	w.as(ada, "PUT", "/prices", object{"prices": []object{price(nil)}}).want(403).refused(fault.Forbidden)
}

// What is used in a provider's batches costs a part of the price. What an entry was reported as
// first counts, also where it is raised.
func TestBatchesCostLess(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	price := func(over object) object {
		return merge(object{"provider": "house", "model": "*", "valid_from": "2026-01-01T00:00:00Z", "input": "2", "output": "0", "cache_read": "0",
			"cache_write": "0", "cache_write_1h": "0"}, over)
	}
	save := func(over object) answer {
		return w.as(w.owner, "PUT", "/prices", object{"prices": []object{price(over)}})
	}
	if all := save(object{"batch_factor": "0.25"}).want(200); all.text("items", 0, "batch_factor") != "0.25" || all.text("items", 1, "batch_factor") != "0.5" {
		t.Errorf("saved: %s", all.raw)
	}
	save(object{"batch_factor": "0.3"}).want(422).refused(fault.Validation, "prices[0].valid_from")
	for _, factor := range []string{"1.5", "-1", "0.1234", "half"} {
		save(object{"batch_factor": factor, "model": "b"}).want(422).refused(fault.Validation, "prices[0].batch_factor")
	}
	if all := save(object{"model": "plain"}).want(200); all.text("items", 1, "batch_factor") != "1" {
		t.Errorf("saved: %s", all.raw)
	}
	w.as(w.owner, "POST", "/budgets", object{"name": "All", "scope": "workspace", "period": "month", "limit_usd": "100"}).want(201)
	ada := w.agent("ada")
	key := w.job("One")
	ref := w.claim(ada)
	tell := func(id string, tokens int, cost string, more object) {
		t.Helper()
		entry := merge(object{"id": id, "provider": "house", "model": "m", "input_tokens": tokens, "output_tokens": 0, "at": "2026-11-21T10:00:00Z"}, more)
		w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": []object{entry}})).want(200)
		if job := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200); job.text("usage", "cost_usd") != cost {
			t.Errorf("after %s of %d tokens it has cost %s; want %s", id, tokens, job.text("usage", "cost_usd"), cost)
		}
	}
	tell("one", 1_000_000, "2.000000000", nil)
	tell("two", 1_000_000, "2.500000000", object{"batch": true})
	tell("two", 3_000_000, "3.500000000", object{"batch": true})
	tell("two", 5_000_000, "4.500000000", nil) // in the batch all the same
	tell("one", 2_000_000, "6.500000000", object{"batch": true})
	tell("three", 1_000_000, "8.500000000", object{"batch": true, "model": "plain"})
	if b := w.as(w.owner, "GET", "/budgets", nil).want(200); b.text("items", 0, "state", "settled_usd") != "8.500000000" {
		t.Errorf("the budget has settled %s", b.text("items", 0, "state", "settled_usd"))
	}
	entries := w.as(w.owner, "GET", "/usage/entries", nil).want(200)
	batches := map[string]any{}
	for i := range entries.count("items") {
		batches[entries.text("items", i, "id")] = entries.at("items", i, "batch")
	}
	if batches["one"] != false || batches["two"] != true || batches["three"] != true {
		t.Errorf("in batches are %v", batches)
	}
}

// A flat rate is imputed, and charged to nobody.
func TestAFlatRate(t *testing.T) {
	t.Parallel()
	w := newAPIServer(t)
	w.as(w.owner, "PUT", "/prices", object{"prices": []object{{"provider": "house", "model": "*", "valid_from": "2026-01-01T00:00:00Z", "input": "3",
		"output": "0", "cache_read": "0", "cache_write": "0", "cache_write_1h": "0", "flat_rate": true}}}).want(200)
	ada := w.agent("ada")
	key := w.job("One")
	ref := w.claim(ada)
	entry := object{"id": "one", "provider": "house", "model": "m", "input_tokens": 1_000_000, "output_tokens": 0, "at": "2026-11-21T10:00:00Z"}
	w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": []object{entry}})).want(200)
	job := w.as(w.owner, "GET", "/jobs/"+key, nil).want(200)
	if job.at("usage", "cost_usd") != "0.000000000" || job.text("usage", "imputed_usd") != "3.000000000" {
		t.Errorf("it cost %s", job.raw)
	}
}
