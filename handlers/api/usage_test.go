package api_test

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// used returns a server on which one agent has used two models for a job with a phase.
func used(t *testing.T, entries int) (w *apiServer, key string) {
	t.Helper()
	w = newAPIServer(t)
	ada := w.agent("ada")
	key = w.job("=One", object{"phase": "m1"})
	ref := w.claim(ada)
	for first := 0; first < entries; first += 200 {
		var list []object
		for i := first; i < min(first+200, entries); i++ {
			list = append(list, object{"id": fmt.Sprint("m-", i), "provider": "house", "model": []string{"small", "large"}[i%2], "input_tokens": 1,
				"cache_read_tokens": 3, "output_tokens": 2, "cost_usd": "0.5", "at": "2026-11-21T10:00:00Z"})
		}
		w.as(ada, "POST", "/fleet/usage", merge(ref, object{"entries": list})).want(200)
	}
	return w, key
}

// Usage is summed up in groups, filtered by any of them, and listed entry by entry.
func TestUsageIsReported(t *testing.T) {
	t.Parallel()
	w, key := used(t, 3)
	report := w.as(w.owner, "GET", "/usage?group_by=model", nil).want(200)
	if report.count("items") != 2 || report.text("items", 0, "group") != "small" || report.text("items", 0, "usage", "reported_cost_usd") != "1.000000000" ||
		encoded(t, report.at("cache_share")) != "0.7500" || report.number("total", "entries") != 3 || report.number("groups") != 2 {
		t.Errorf("by model: %s", report.raw)
	}
	for _, filter := range []string{"model=small&phase=m1", "job=" + key + "&model=small", "agent=ada&provider=house&model=small&product=default"} {
		if one := w.as(w.owner, "GET", "/usage?group_by=job&"+filter, nil).want(200); one.text("items", 0, "label") != "=One" ||
			one.number("total", "entries") != 2 {
			t.Errorf("filtered by %s: %s", filter, one.raw)
		}
	}
	for _, filter := range []string{"phase=", "product=nothing", "to=2026-01-01T00:00:00Z"} {
		if none := w.as(w.owner, "GET", "/usage?"+filter, nil).want(200); none.count("items") != 0 || none.at("cache_share") != nil {
			t.Errorf("filtered by %s: %s", filter, none.raw)
		}
	}
	first := w.as(w.owner, "GET", "/usage/entries?limit=2", nil).want(200)
	rest := w.as(w.owner, "GET", "/usage/entries?limit=2&cursor="+url.QueryEscape(first.text("next_cursor")), nil).want(200)
	if first.count("items") != 2 || rest.count("items") != 1 || rest.text("next_cursor") != "" || rest.text("items", 0, "job") != key ||
		rest.text("items", 0, "charged_usd") != "0.500000000" || rest.at("items", 0, "computed_usd") != nil {
		t.Errorf("entries: %s, then %s", first.raw, rest.raw)
	}
	w.as(w.owner, "GET", "/usage?from=2020-01-01T00:00:00Z", nil).want(422).refused(fault.Validation, "to")
	w.as(w.owner, "GET", "/usage?group_by=colour", nil).want(422).refused(fault.Validation, "group_by")
	w.as(w.owner, "GET", "/usage/entries?cursor=x", nil).want(422).refused(fault.Validation, "cursor")
}

// Accept with text/csv gives a table: all groups, and all entries of all pages.
func TestUsageAsCSV(t *testing.T) {
	t.Parallel()
	w, _ := used(t, 1001)
	lines := func(path string) [][]string {
		t.Helper()
		a := w.as(w.owner, "GET", path, nil, "Accept", "text/csv").want(200)
		if kind := a.header.Get("Content-Type"); !strings.HasPrefix(kind, "text/csv") {
			t.Errorf("%s is %s", path, kind)
		}
		list, err := csv.NewReader(strings.NewReader(string(a.raw))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if groups := lines("/usage?group_by=job"); len(groups) != 2 || groups[1][1] != "'=One" || groups[1][2] != "1001" {
		t.Errorf("groups: %v", groups)
	}
	seen := map[string]bool{}
	for _, line := range lines("/usage/entries")[1:] {
		seen[line[0]] = true
	}
	if len(seen) != 1001 {
		t.Errorf("%d entries of 1001", len(seen))
	}
	w.as(w.owner, "GET", "/usage/entries?from=2020-01-01T00:00:00Z", nil, "Accept", "text/csv").want(422).refused(fault.Validation, "to")
}

// With a format all charges come as CSV, whatever is accepted, to whoever may read usage.
func TestUsageInFocus(t *testing.T) {
	t.Parallel()
	w, key := used(t, 5)
	a := w.as(w.owner, "GET", "/usage?format=focus&model=small&group_by=day&limit=1", nil).want(200)
	list, err := csv.NewReader(strings.NewReader(string(a.raw))).ReadAll()
	if kind := a.header.Get("Content-Type"); err != nil || !strings.HasPrefix(kind, "text/csv") || len(list) != 2 {
		t.Fatalf("%s, %v: %s", kind, err, a.raw)
	}
	charge := map[string]string{}
	for i, column := range list[0] {
		charge[column] = list[1][i]
	}
	for column, want := range map[string]string{"BilledCost": "1.500000000", "BillingCurrency": "USD", "ConsumedQuantity": "18", "ConsumedUnit": "Tokens",
		"ChargeCategory": "Usage", "ChargeClass": "", "ProviderName": "house", "SkuId": "house/small", "x_CostBasis": "Reported", "x_Entries": "3"} {
		if charge[column] != want {
			t.Errorf("%s is %q; want %q", column, charge[column], want)
		}
	}
	if !strings.Contains(charge["Tags"], `"fleetboard:job":"`+key+`"`) || charge["BillingAccountName"] == "" || charge["SubAccountName"] != "default" {
		t.Errorf("whose it is: %v", charge)
	}
	if none := w.as(w.owner, "GET", "/usage?format=focus&model=other", nil).want(200); strings.Count(string(none.raw), "\n") != 1 {
		t.Errorf("no charge: %s", none.raw)
	}
	w.as(w.owner, "GET", "/usage?format=xlsx", nil).want(422).refused(fault.Validation, "format")
	w.as(w.owner, "GET", "/usage?format=focus&from=2020-01-01T00:00:00Z", nil).want(422).refused(fault.Validation, "to")
}
